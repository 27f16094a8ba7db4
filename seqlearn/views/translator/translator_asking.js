// The sentence that is translated: a form, and a note about what the model knows of the sentence.

import { choice as choiceOf, make, tell, token } from "../shared/elements.js";
import { chance, whyNot } from "../shared/changes.js";
import { searchName } from "./translator_choice.js";

/** @import { Choice, Result } from "./translator_choice.js" */

const MUCH_LONGER = 1.5; // times the longest sentence in training
const UNSURE = 0.5; // the mean probability of a token of real sentences, which have many right translations

export class Asking {
  /**
   * @param {Choice} choice
   * @param {string} id
   * @param {() => void} redraw
   */
  constructor(choice, id, redraw) {
    const { beams, examples, live } = choice.data;
    const texts = beams.map(searchName);
    this.choice = choice;
    this.submitted = false; // and not yet answered
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
      this.submitted = true;
      choice.begin(this.box.value);
      redraw(); // the same sentence again
    };
    this.form = make(
      "form",
      { class: "asking", onsubmit: submit },
      this.box,
      make("button", { type: "submit", disabled: !live }, "Translate"),
      live && examples.length ? this.example : null,
      live ? this.search.node : null,
    );
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
    const warning = isWaiting || isWrong ? null : doubts(raw, data, model.get("prefix").length > 0);
    this.search.set(search);
    this.box.setAttribute("aria-invalid", `${isWrong}`);
    this.note.classList.toggle("wrong", isWrong || warning !== null);
    this.example.value = data.examples.includes(sentence) ? sentence : "";
    const end = " Below is the former translation.";
    if (isWaiting) tell(this.note, "“", token(sentence), `” (${search}) is not translated yet: ${whyNot()}.${end}`);
    else if (isWrong) tell(this.note, raw.problem + end);
    else
      tell(
        this.note,
        ...(data.live ? [] : ["Another sentence needs Python: run the notebook. "]),
        ...(warning ?? []),
        ...unknownWords(raw, data.live && !warning),
      );
  }
}

/** Why a translation is not to be trusted, as a list of texts; null if nothing speaks against it.
 * @param {Result} result
 * @param {{ longest: number | null, unlikely: number | null }} data
 * @param {boolean} isForced
 */
function doubts({ source, unknown, best }, { longest, unlikely }, isForced) {
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
  const { probability, tokens } = best[0];
  if (probability >= (unlikely ?? UNSURE ** tokens.length) || isForced) return null;
  return why(`the model itself gives it a probability of ${chance(probability)}`);
}

/**
 * @param {Result} result
 * @param {boolean} live
 */
function unknownWords({ source, unknown, known }, live) {
  const texts = [...new Set(source.filter((_, i) => unknown[i]))];
  const number = known.toLocaleString("en");
  if (!texts.length) return live ? [`Type a sentence and press Enter. The model knows ${number} tokens.`] : [];
  const [was, is] = texts.length > 1 ? ["were", "they are"] : ["was", "it is"];
  const names = texts.flatMap((text, i) => [i ? ", “" : "“", token(text), "”"]);
  return [...names, ` ${was} never seen in training; ${is} read as <unk>. (The model knows ${number} tokens.)`];
}
