// Types of what the modules share. Checked by `tsc`, never sent.

/** One second of a run (`Monitor._tick_content` in ui/server.py). */
export interface Tick {
  run: string;
  kind: "learner" | "training" | "self-play" | "evaluation" | "mesh";
  time: number;
  live: boolean;
  connected: boolean;
  finished: boolean;
  files: boolean;
  /** Whether its pages may act on the mesh. */
  control: boolean;
  versions: Record<string, string>;
  phase?: string;
  left?: number | null;
  alive?: number;
  sick?: number;
  totals?: Record<string, number>;
  rates?: Record<string, number>;
}

/** What a page gets. */
export interface Context {
  /** Name of the run; empty on pages about all runs. */
  run: string;
  /** The parts of the address after the page's name, such as an attempt's id. */
  rest: string[];
  /** The address's query; `setQuery` changes it and refreshes the page. */
  query: URLSearchParams;
  /** The latest second; null before the first. */
  tick: Tick | null;
  /** Ask a view: GET /api/run/RUN/VIEW?QUERY. Throws `Refused` with the server's words. */
  get(view: string, query?: Record<string, string | number | undefined>): Promise<any>;
  /** Change parameters of the address, which stays shareable; empty or undefined removes one. */
  setQuery(changes: Record<string, string | number | undefined>): void;
  /** The address of a page of this run. */
  href(page: string, ...rest: string[]): string;
}

/** An open page. */
export interface OpenPage {
  /** Ask for the data again, and show it. Called at first, and when data that the page `uses` has changed. */
  refresh(): Promise<void> | void;
  /** Called each second. */
  tick?(tick: Tick): void;
  close?(): void;
}

export interface Page {
  title: string;
  /** Kinds of data: keys of `versions` (`Run.versions` in ui/runs.py). */
  uses: string[];
  /** Build the page once. */
  open(root: HTMLElement, context: Context): OpenPage;
}

/** What may stand in an element. Text is shown as text, whatever it contains. */
export type Child = Node | string | number | null | undefined | false | Child[];

/** A line of a chart. */
export interface Line {
  name: string;
  /** [x, y]; a y of null makes a gap. */
  points: [number, number | null][];
  /** [x, low, high]: a band around the line, such as an interval. */
  band?: [number, number, number][];
  /** Show each point. */
  dots?: boolean;
  dashed?: boolean;
  /** Index of its colour; default: its place. */
  colour?: number;
}

export interface Column<Row> {
  label: string;
  /** What the cell shows. */
  cell(row: Row): Child;
  number?: boolean;
  /** Name of the order, if a click on the head sorts by it. */
  sort?: string;
  /** That order begins with the smallest. */
  ascending?: boolean;
  /** Explains the head. */
  title?: string;
  class?: string;
}

declare global {
  /** Chart.js, loaded by lib/chart.js. */
  var Chart: any;
}
