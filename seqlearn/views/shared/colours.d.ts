// The types of the module that bundle.py writes from colours.py.
export type Colours = readonly (readonly [red: number, green: number, blue: number])[];
export const VIRIDIS: Colours;
export const BLUE_RED: Colours;
export const BLUE_RED_DARK: Colours;
export const OPEN: string;
export const MASKED: { ground: string; stripe: string };
