// The types that the views share; the data of one view stands in the file that reads it.
import type { Live } from "../live/engine.js";
import type { LiveModel } from "../live/translator.js";
import type { Echo } from "./echo.js";
import type { Axis, Kind, MatrixName, StepText } from "./constants.js";

// ---- Views and their traits

/** The traits that Python and the browser share: those of anywidget, or of a page without Python (page.js). */
export interface Model<T = Traits> {
  get<K extends string & keyof T>(name: K): T[K];
  set<K extends string & keyof T>(name: K, value: T[K]): void;
  save_changes(): void;
  on(event: string, callback: () => void): void;
  off(event: string, callback: () => void): void;
}

/** The traits of every view: `Model<Traits & { step: number }>` has one more. */
export interface Traits {
  data: unknown;
  told: Told[];
}

/** A piece of the text above a view: a click on it sets these traits. */
export type Told = [text: string, traits: Record<string, unknown> | null];

/** What to do after a change of a trait, or of the width (`resized`). */
export type Reactions = Record<string, () => unknown>;

/** Draws all of the data below `root`. */
export type Build<T extends Traits = Traits, D = unknown> = (
  model: Model<T>,
  root: HTMLElement,
  data: D,
  echo: Echo,
) => Reactions;

/** Answers the questions of a view with the Transformer in the page. */
export type Answers<T extends Traits = Traits> = (model: Model<T>, live: Live) => void;

// ---- Elements

/** What an element takes: attributes, and listeners such as onclick. */
export interface Attributes extends Listeners {
  [name: string]: string | number | boolean | null | undefined | ((event: never) => unknown);
}
type Listeners = { [K in keyof HTMLElementEventMap as `on${K}`]?: ((event: HTMLElementEventMap[K]) => unknown) | null };
export type Child = Node | string | null;
export type Tone = readonly [red: number, green: number, blue: number];

// ---- Numbers

/** What lists of numbers and typed arrays share. */
export interface Numbers extends Iterable<number> {
  readonly length: number;
  readonly [at: number]: number;
  every(is: (x: number, at: number) => boolean): boolean;
  some(is: (x: number, at: number) => boolean): boolean;
  map(become: (x: number, at: number) => number): Numbers;
  filter(is: (x: number, at: number) => boolean): Numbers;
  forEach(see: (x: number, at: number) => void): void;
  includes(x: number): boolean;
  indexOf(x: number): number;
  reduce(add: (sum: number, x: number, at: number) => number, start: number): number;
  slice(from?: number, to?: number): Numbers;
}
export type TypedArray = Float64Array | Float32Array | Uint16Array | Uint8Array;

/** A tensor that went through `pack` in Python and `unpack` in life.js. */
export interface Tensor<Values extends TypedArray = TypedArray> {
  shape: number[];
  values: Values;
  at(...index: number[]): number;
}

/** The smallest and the largest number. */
export type Extent = [low: number, high: number];

/** A cell of a grid. */
export interface Cell {
  row: number;
  column: number;
}

// ---- Attention

/** Of a translator, or of a kernel regression. */
export type AnyKind = Kind | "kernel";

/** What is pointed at, or locked, in a map of weights. */
export type Target =
  | [what: "query", query: number]
  | [what: "key", key: number]
  | [what: "pair", query: number, key: number];

/** Which weights are shown: of a head, the mean of a layer, the mean of all heads, or the rollout. */
export type Show = "head" | "layer" | "all" | "rollout";

/** One kind of attention, as `map_data` in attention.py returns it. */
export interface MapData {
  kind: AnyKind;
  queries: string[];
  keys: string[];
  names: { query: string; key: string };
  mask: Tensor | null;
  full: number;
  weights: Tensor; // layers, heads, queries, keys
  means: Tensor; // layers, queries, keys
  average: Tensor; // queries, keys
  rollout: Tensor | null; // queries, keys
  thumbs: Tensor; // layers, heads, rows, columns
  roles?: string[][] | null; // layers, heads
}

/** A change of attention weights: null is every layer, or every head. */
export type Edit =
  | [what: "ablate", kind: AnyKind, layer: number | null, head: number | null]
  | [
      what: "weight",
      kind: AnyKind,
      layer: number | null,
      head: number | null,
      row: number,
      column: number,
      weight: number,
    ];

/** The layers of a model: the name and the number of heads of each. */
export type Layers = Partial<Record<AnyKind, [name: string, heads: number][]>>;

/** What a view with a translator asks. */
export interface Question {
  sentence: string;
  beam: number;
  prefix: string[];
  edits: Edit[];
}

/** One attention in five steps, as `steps_data` in steps_data.py returns it. */
export interface StepsData {
  axes: Record<Axis, string[]>;
  matrices: Record<MatrixName, StepMatrix>;
  allowed: Tensor; // 1 where the mask lets a query attend to a key
  empty: number[]; // the queries with nothing to attend to
  scale: number;
  steps: Step[];
}
export interface StepMatrix {
  title: string;
  rows: Axis;
  columns: Axis;
  masked: boolean;
  numbers: Tensor;
}
export interface Step extends StepText {
  limits: Partial<Record<MatrixName, Extent>>;
}

// ---- Windows

declare global {
  interface Window {
    /** The last view of the page, for tests. */
    model?: unknown;
    live?: Live;
    /** What model.js holds. */
    courseModel: LiveModel;
    MathJax?: { startup?: { promise: Promise<void> } };
  }
}
