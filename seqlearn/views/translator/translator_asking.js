// The sentence that is translated: a form, and a note about what the model knows of the sentence.

import { isSame } from "../shared/asking.js";
import { bookFolder, toBook } from "../shared/book.js";
import { choice as choiceOf, make, tell, token, unknownText } from "../shared/elements.js";
import { chance, whyNot } from "../shared/changes.js";
import { searchName } from "./translator_choice.js";
import { isOpen, knownWords, nearest } from "./translator_known.js";

/** @import { Child } from "../shared/types.js" */
/** @import { Choice, Data, Result } from "./translator_choice.js" */

const MUCH_LONGER = 1.5; // times the longest sentence in training
const MARKS = { ".": "a full stop", "?": "a question mark", "!": "an exclamation mark" };
const UNSURE = 0.5; // the mean probability of a token of real sentences, which have many right translations

export class Asking {
  /**
   * @param {Choice} choice
   * @param {string} id
   * @param {() => void} redraw
   * @param {(Node | null)[]} more what else stands behind "more"
   */
  constructor(choice, id, redraw, more) {
    const { beams, examples, live, sentences = examples } = choice.data;
    const texts = beams.map(searchName);
    this.choice = choice;
    this.turn = 0; // of the next sentence
    /** @type {object | null} */
    this.opening = choice.model.get("result").asked; // null: other questions were answered since
    this.note = make("div", { class: "note", id: `${id}note`, "aria-live": "polite" });
    this.box = make("input", {
      type: "text",
      "aria-label": "sentence to translate",
      "aria-describedby": `${id}note`,
      readonly: !live,
      autocomplete: "off",
      spellcheck: "false",
    });
    this.search = choiceOf({
      label: "search",
      texts,
      choose: (text) => this.widen(beams[texts.indexOf(text)]),
    });
    this.example = make(
      "select",
      { "aria-label": "example" },
      make("option", { value: "", disabled: true }, "examples"),
      ...examples.map((text) => make("option", { value: text }, text)),
    );
    this.example.addEventListener("change", () => {
      this.box.value = this.example.value;
      choice.begin(this.box.value);
    });
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      choice.begin(this.box.value);
      redraw(); // the same sentence again
    };
    const another = () => {
      this.box.value = sentences[this.turn++ % sentences.length];
      choice.begin(this.box.value);
    };
    const offers = [
      make("button", { type: "button", onclick: another }, "another sentence"),
      make("label", { class: "examples" }, make("span", { "aria-hidden": "true" }, "examples ▾"), this.example),
    ];
    const [known, list] = knownWords(choice.data, (word) => this.insert(word));
    const others = make("details", { class: "more" }, make("summary", {}, "more"));
    // What a fold opens stands in a row of its own, so that the folds stay where they are.
    const folds = [known, others, list, make("div", { class: "settings" }, this.search.node, ...more)];
    this.form = make(
      "form",
      { class: "asking", onsubmit: submit, onkeydown: closeFold },
      this.box,
      make("button", { type: "submit", disabled: !live }, "Translate"),
      ...(live && examples.length ? offers : []),
      ...(live ? folds : []),
    );
  }

  /** Writes a word into the text box, in place of what is selected there; at its end, before the final mark. Tab
   * selects the whole text: this is no wish to replace it.
   * @param {string} word
   */
  insert(word) {
    const { box } = this;
    let [start, end] = [box.selectionStart ?? box.value.length, box.selectionEnd ?? box.value.length];
    if (end - start === box.value.length) start = end;
    if (start === box.value.length && /\p{L}/u.test(word)) start = end = box.value.replace(/\s*[.?!]\s*$/, "").length;
    const [before, after] = [box.value.slice(0, start), box.value.slice(end)];
    const first = /\S$/.test(before) && /\p{L}/u.test(word) ? " " : ""; // none before a full stop
    const last = /^\p{L}/u.test(after) ? " " : "";
    box.setRangeText(first + word + last, start, end, "end");
  }

  /** The words that the model never saw, each with the known word that is nearest to it.
   * @param {Result} result
   * @returns {Child[]}
   */
  unknownWords({ source, unknown, known, sentence }) {
    const { live } = this.choice.data;
    const texts = [...new Set(source.filter((_, i) => unknown[i]))];
    if (!texts.length) return [];
    const offers = live
      ? texts.flatMap((text) => this.offer(text, nearest(source, source.indexOf(text), this.choice.data)))
      : [];
    return [
      ...unknownText(texts),
      " ",
      ...(offers.length ? ["Nearest in spelling: ", ...offers] : []),
      `(The model knows ${known.toLocaleString("en")} tokens.) `,
      ...this.realModel(sentence),
    ];
  }

  /** The way to a page of the book with a model that knows more words, for the sentence that is shown.
   * @param {string} sentence
   * @returns {Child[]}
   */
  realModel(sentence) {
    const { live, kinds } = this.choice.data;
    if (!live || !kinds?.length || bookFolder() === null) return [];
    const state = new URLSearchParams({ view: "TranslatorView-1", sentence, link: "1" });
    const words = "Translate this sentence with a model of real sentences";
    return [...toBook(`views/real-sentences.html#${state}`, words), " (a page of 7 MB)."];
  }

  /** The marks that may end a sentence, for one that has none.
   * @param {Result} result
   * @returns {Child[]}
   */
  endMarks({ source, sentence }) {
    const { history, data } = this.choice;
    if (!data.live || !data.unlikely || !isOpen(source)) return [];
    const marks = Object.entries(MARKS).flatMap(([mark, name]) => {
      const onclick = () =>
        history.ask({ sentence: sentence.trimEnd() + mark, prefix: [], edits: this.choice.ablations() });
      return [" ", make("button", { type: "button", class: "try", "aria-label": `add ${name}`, onclick }, mark)];
    });
    const words = "This sentence has no mark at its end, and each one in training had one: try";
    return [make("div", {}, words, ...marks)];
  }

  /** @param {string} text @param {string | null} word @returns {Child[]} */
  offer(text, word) {
    const swap = () => word && this.choice.swap(this.choice.result.source.indexOf(text), word);
    const label = { type: "button", class: "try", "aria-label": `swap ${text} for ${word}`, onclick: swap };
    return word ? [token(text), ": try ", make("button", label, word), " "] : [];
  }

  /** Another width of the search: a change of a changed question, or a new question.
   * @param {number} beam
   */
  widen(beam) {
    const { history } = this.choice;
    if (this.choice.isChanged()) history.ask({ beam });
    else history.begin({ sentence: this.box.value, beam });
  }

  retype() {
    const sentence = this.choice.model.get("sentence");
    if (this.box.value !== sentence) this.box.value = sentence;
  }

  /**
   * @param {Result} raw
   * @param {boolean} isWaiting
   */
  draw(raw, isWaiting) {
    const { model, data } = this.choice;
    const sentence = model.get("sentence");
    const search = searchName(model.get("beam"));
    const isWrong = !isWaiting && raw.problem !== "";
    const warning = isWaiting || isWrong ? null : doubts(raw, data, this.choice.isChanged());
    if (this.opening && !isSame(raw.asked, this.opening)) this.opening = null;
    this.search.set(search);
    this.box.setAttribute("aria-invalid", `${isWrong}`);
    this.note.classList.toggle("wrong", isWrong || warning !== null);
    this.example.value = data.examples.includes(sentence) ? sentence : "";
    const marks = this.endMarks(raw);
    const end = " Below is the former translation.";
    if (isWaiting) tell(this.note, "“", token(sentence), `” (${search}) is not translated yet: ${whyNot()}.${end}`);
    else if (isWrong) tell(this.note, raw.problem + end);
    else
      tell(
        this.note,
        ...(data.live ? [] : ["Another sentence needs Python: run the notebook. "]),
        ...(warning ?? []),
        ...marks,
        ...this.unknownWords(raw),
        ...(data.live && this.opening && !warning && !marks.length && !raw.unknown.includes(true) ? [hint(raw)] : []),
      );
  }
}

/** Escape closes the fold that is open, and goes back to its summary.
 * @param {KeyboardEvent} event
 */
function closeFold(event) {
  const form = /** @type {Element} */ (event.currentTarget);
  const at = /** @type {Element} */ (event.target);
  const folds = /** @type {HTMLDetailsElement[]} */ ([...form.querySelectorAll(":scope > details[open]")]);
  const fold = at.closest(".settings") ? folds.at(-1) : folds[0];
  if (event.key !== "Escape" || !fold || at.matches("select")) return;
  fold.open = false;
  fold.querySelector("summary")?.focus();
  event.stopPropagation();
}

/** @param {Result} result */
const hint = ({ known }) => `Type a sentence and press Enter. The model knows ${known.toLocaleString("en")} tokens.`;

/** Why a translation is not to be trusted, as a list of texts; null if nothing speaks against it.
 * @param {Result} result
 * @param {Pick<Data, "longest" | "unlikely" | "unsure" | "short">} data
 * @param {boolean} isChanged by a person, who knows why it is unlikely
 */
function doubts({ source, unknown, best }, { longest, unlikely, unsure, short }, isChanged) {
  const why = (/** @type {string} */ text) => [make("strong", {}, `Do not trust this translation: ${text}.`), " "];
  if (longest && source.length > MUCH_LONGER * longest)
    return why(
      `the sentence has ${source.length} tokens, the longest in training had ${longest}, ` +
        "and parts of it may be left out",
    );
  const [strange, words] = [unknown.filter(Boolean).length, source.filter((text) => /\p{L}/u.test(text)).length];
  if (strange > 0 && strange >= words / 2) {
    if (strange < words) return why(`${strange} of ${words} words are unknown`);
    return why(words > 1 ? "all its words are unknown" : "its word is unknown");
  }
  const { probability, tokens, pieces } = best[0];
  if (isChanged) return null;
  if (probability < (unlikely ?? UNSURE ** tokens.length))
    return why(`the model itself gives it a probability of ${chance(probability)}`);
  if (pieces.length < (short ?? 0) * source.length)
    return why(`it has ${pieces.length} tokens for ${source.length}, and parts of the sentence may be left out`);
  if (probability >= (unsure ?? 0)) return null;
  return [`The model is not sure: it gives this translation a probability of ${chance(probability)}. `];
}
