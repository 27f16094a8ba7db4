// Light and dark pages: the theme of the system, of JupyterLab, or of the book around a frame.

const DARK = "screen and (prefers-color-scheme: dark)"; // paper is light

/** The style sheet of a frame in the book; its `media` says when a page is dark. */
const sheet = () => /** @type {HTMLLinkElement | null} */ (document.getElementById("dark"));

/** Whether the page is dark. */
export function isDark() {
  const lab = document.body.dataset.jpThemeLight;
  return lab ? lab === "false" : window.matchMedia(sheet()?.media ?? DARK).matches;
}

/** Hears of another theme, also of paper. Gives a function that ends it.
 * @param {() => void} heard
 */
export function onTheme(heard) {
  const media = [DARK, "print"].map((query) => window.matchMedia(query));
  const observer = new MutationObserver(heard);
  const link = sheet();
  observer.observe(document.body, { attributeFilter: ["data-jp-theme-light"] });
  if (link) observer.observe(link, { attributeFilter: ["media"] });
  for (const query of media) query.addEventListener("change", heard);
  return () => {
    observer.disconnect();
    for (const query of media) query.removeEventListener("change", heard);
  };
}
