// The types of the module that bundle.py writes from constants.py.
export type Kind = "encoder" | "causal" | "cross";
export type Axis = "query" | "key" | "size" | "value";
export type MatrixName =
  | "queries"
  | "keys"
  | "scores"
  | "scaled"
  | "mask"
  | "masked"
  | "weights"
  | "values"
  | "context";
export type ResultName = "scores" | "scaled" | "masked" | "weights" | "context";
export type Part = "row" | "column" | "same";
export interface StepText {
  name: string;
  formula: string;
  sentence: string;
  inputs: MatrixName[];
  result: ResultName;
  made: Part[];
  signs: string[];
  empty: string;
}
export const PAD: string;
export const BOS: string;
export const EOS: string;
export const SPECIALS: readonly string[];
export const PATTERNS: Readonly<Record<string, string>>;
export const CLOSE_UP: Readonly<Record<string, string>>;
export const STAND_OFF: Readonly<Record<string, string>>;
export const OPENING: Readonly<Record<string, string>>;
export const INVISIBLE: string;
export const JOINER: string;
export const QUOTED: string;
export const SPELLINGS: Readonly<Record<string, string>>;
export const UNUSABLE: Readonly<Record<string, string>>;
export const NO_BREAK: readonly string[];
export const SPACES: string;
export const SPACING: Readonly<Record<string, readonly (readonly [pattern: string, replacement: string])[]>>;
export const KINDS: readonly Kind[];
export const AXIS_NAMES: Readonly<Record<Kind | "kernel", readonly [key: string, query: string]>>;
export const LARGEST: number;
export const FULL: readonly number[];
export const EXACT: number;
export const THUMB: number;
export const MOST_TONES: number;
export const HIDDEN_BELOW: number;
export const MATRICES: Readonly<
  Record<MatrixName, readonly [title: string, rows: Axis, columns: Axis, masked: boolean]>
>;
export const STEPS: readonly StepText[];
export const NO_MASK: string;
export const A_MASK: string;
export const CELL_NAMES: Readonly<Record<ResultName, readonly [before: string, between: string]>>;
export const FEW_NUMBERS: number;
export const DEFAULT_BEAM: number;
export const MOST_TOKENS: number;
export const CANDIDATES: number;
export const THRESHOLD: number;
export const MOST_SEEN: number;
export const LEVELS: number;
export const SIGNS: Readonly<Record<"kept" | "complete" | "beaten" | "pruned", string>>;
