// Rows that are read one at a time: the one under the mouse, else the one with the focus of the keyboard.

/** What is pointed at in a list of rows. changed: called after every change.
 * @param {() => void} changed
 */
export function pointedRow(changed) {
  /** @type {{ hovered: number | null, focused: number | null }} */
  const now = { hovered: null, focused: null };
  const set = (/** @type {Partial<typeof now>} */ values) => {
    Object.assign(now, values);
    changed();
  };
  return {
    at: () => now.hovered ?? now.focused,
    /** The listeners of a row, for `make`. */
    listeners: (/** @type {number} */ row) => ({
      onpointerenter: () => set({ hovered: row }),
      onpointerleave: (/** @type {PointerEvent} */ event) => {
        if (event.pointerType !== "touch") set({ hovered: null }); // a finger leaves after every tap
      },
      onfocusin: () => set({ hovered: null, focused: row }),
      onfocusout: () => set({ focused: null }),
    }),
  };
}
