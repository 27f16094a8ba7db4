// Links from a view to pages of the book, where the view stands in a book.

import { make } from "./elements.js";

/** @import { Child } from "./types.js" */

/** The folder of the book, as the page of the view names it; null where there is no book. */
export const bookFolder = () => document.querySelector("meta[name='book']")?.getAttribute("content") ?? null;

/** Words that lead to a page of the book, or the words alone.
 * @param {string} page
 * @param {...Child} words
 * @returns {Child[]} */
export function toBook(page, ...words) {
  const folder = bookFolder();
  return folder === null ? words : [make("a", { href: folder + page, target: "_top", class: "to-book" }, ...words)];
}
