import { type ReadonlySignal, signal } from '@preact/signals';
import type { PastStates } from '#clients/typescript/src/models';
import { instanceApi } from '#pages/instance/api';
import { type Course, Courses, CYCLES_MAX } from '#pages/instance/course';
import type { InstanceView } from '#pages/instance/live';
import { panned, type Range } from '#pages/instance/zoom';
import { Refused } from '#pages/shell/api';

/** Number of stored states that a generation begins with. */
export const POINTS = 200;

/** Requests for exact states when the course is opened. Further requests follow a zoom or move. */
const OPENING_REQUESTS = 2;

/** Rest after a zoom or move before states are requested, in milliseconds. */
const REST_MS = 400;

/** A past state for a comparison. */
export type Moment = { readonly generation: number; readonly cycle: number };

/** Data of the course that a component renders. */
export type Shown = {
  /** Number of the present generation. Undefined if the past of the instance cannot be read. */
  readonly present: number | undefined;
  readonly course: Course;
  /** Visible part of the course. Undefined for the whole course. */
  readonly range: Range | undefined;
  readonly selected: number | undefined;
  readonly pinned: Moment | undefined;
  readonly isLoading: boolean;
  readonly refusal: Refused | undefined;
  /** Whether older observations can be loaded. */
  readonly hasOlder: boolean;
};

/**
 * Course of an instance: loads past states thriftily, takes new states from the stream, and keeps
 * the choice of generation, part and state. The requests count against the limit of the account.
 */
export class CourseModel {
  readonly #id: string;
  readonly #courses = new Courses();
  readonly #shown = signal<Shown>({
    present: undefined,
    course: this.#courses.of(1),
    range: undefined,
    selected: undefined,
    pinned: undefined,
    isLoading: false,
    refusal: undefined,
    hasOlder: false,
  });
  #isOpened = false;
  #isRefined = false;
  #rest: ReturnType<typeof setTimeout> | undefined;
  /** Cursors of the next older page. Null after the oldest page, undefined before the first. */
  readonly #older: { rows: string | null | undefined; drifts: string | null | undefined } = {
    rows: undefined,
    drifts: undefined,
  };
  /** Requests in progress run one after the other. */
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  /** `past` has the stored states of the present generation, or the reason why there are none. */
  constructor(id: string, past: PastStates | Refused) {
    this.#id = id;
    if (past instanceof Refused) {
      this.#change({ refusal: past });
      return;
    }
    const course = this.#courses.of(past.generation);
    course.addStates(past.states);
    this.#change({ present: past.generation, course });
  }

  get shown(): ReadonlySignal<Shown> {
    return this.#shown;
  }

  courseOf(generation: number): Course {
    return this.#courses.of(generation);
  }

  /** Adds what the stream has delivered. A reset shows the new generation. */
  take(view: InstanceView): void {
    const { present, course, range } = this.#shown.value;
    const [, before] = course.extent;
    this.#courses.take(view);
    const { generation } = view;
    const isReset = generation !== undefined && generation !== present;
    if (isReset && (present === undefined || course.generation === present)) {
      const next = this.#courses.of(generation);
      this.#change({ present: generation, course: next, range: undefined, selected: undefined });
      return;
    }
    // A part that ends at the newest cycle follows the newest cycle.
    const [first, last] = course.extent;
    const isFollowing = range !== undefined && range[1] >= before && last > before;
    const moved = isFollowing ? panned(range, [first, last], last - before) : range;
    this.#change({ present: generation ?? present, range: moved });
  }

  /** Loads a few exact states between the stored states, once. */
  async refineOnce(): Promise<void> {
    if (this.#isRefined) return;
    this.#isRefined = true;
    await this.#refine();
  }

  /** Loads observations, drift events and a few exact states, once. */
  async open(): Promise<void> {
    if (this.#isOpened) return;
    this.#isOpened = true;
    const requests = this.#isRefined ? OPENING_REQUESTS - 1 : OPENING_REQUESTS;
    this.#isRefined = true;
    await this.loadOlder();
    for (let count = 0; count < requests; count += 1) await this.#refine();
  }

  /** Loads the next older page of observations, and of drift events if there are more. */
  loadOlder(): Promise<void> {
    return this.#run(async () => {
      const { rows, drifts } = this.#older;
      const [observed, drifted] = await Promise.all([
        rows === null ? undefined : instanceApi.observations(this.#id, rows),
        drifts === null ? undefined : instanceApi.drifts(this.#id, drifts),
      ]);
      this.#courses.addRows(observed?.data ?? [], drifted?.data ?? []);
      this.#older.rows = observed?.pagination.next_cursor ?? null;
      this.#older.drifts = drifted?.pagination.next_cursor ?? null;
      this.#change({ hasOlder: this.#older.rows !== null || this.#older.drifts !== null });
    });
  }

  /** Shows another generation. */
  async choose(generation: number): Promise<void> {
    const course = this.#courses.of(generation);
    this.#change({ course, range: undefined, selected: undefined, refusal: undefined });
    if (course.points.length > 0) return;
    await this.#run(async () => {
      const { states } = await instanceApi.points(this.#id, POINTS, generation);
      course.addStates(states);
    });
    await this.#refine();
  }

  /** Shows a part of the course. Missing states are loaded after a rest. */
  show(range: Range | undefined): void {
    this.#change({ range });
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => void this.#refine(), REST_MS);
  }

  /** Selects the state after a cycle, and loads the state if it is not known. */
  async select(cycle: number | undefined): Promise<void> {
    this.#change({ selected: cycle, refusal: undefined });
    const { course } = this.#shown.value;
    if (cycle === undefined || course.pointAt(cycle) !== undefined) return;
    // The same request loads further missing states of the visible part.
    const others = this.#missing().filter((each) => each !== cycle);
    await this.#load(course, [cycle, ...others.slice(0, CYCLES_MAX - 1)]);
  }

  /** Keeps a state for comparisons. */
  pin(pinned: Moment | undefined): void {
    this.#change({ pinned });
  }

  /** Repeats what was refused. */
  async retry(): Promise<void> {
    this.#change({ refusal: undefined });
    const { selected, course } = this.#shown.value;
    if (this.#older.rows === undefined) await this.loadOlder();
    if (course.points.length === 0) await this.choose(course.generation);
    else if (selected !== undefined) await this.select(selected);
    else await this.#refine();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#rest);
  }

  #missing(): number[] {
    const { course, range } = this.#shown.value;
    return course.missing(range ?? course.extent);
  }

  async #refine(): Promise<void> {
    const cycles = this.#missing();
    if (cycles.length > 0) await this.#load(this.#shown.value.course, cycles);
  }

  /** Loads exact states. If some cycles are not stored, loads the others. */
  #load(course: Course, cycles: readonly number[]): Promise<void> {
    const ask = async (wanted: readonly number[]): Promise<void> => {
      const { states } = await instanceApi.statesAt(this.#id, wanted, course.generation);
      course.addStates(states);
    };
    return this.#run(async () => {
      try {
        await ask(cycles);
      } catch (error) {
        if (!(error instanceof Refused) || !NOT_STORED.includes(error.reason ?? '')) throw error;
        course.beginAt(error.firstCycle ?? Number.POSITIVE_INFINITY);
        const stored = cycles.filter((cycle) => cycle >= course.first);
        if (stored.length > 0) await ask(stored);
        const { selected } = this.#shown.value;
        if (selected !== undefined && cycles.includes(selected) && selected < course.first) {
          throw error;
        }
      }
    });
  }

  async #run(act: () => Promise<void>): Promise<void> {
    this.#waiting += 1;
    this.#change({ isLoading: true });
    const attempt = this.#last.then(async () => {
      try {
        await act();
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        this.#change({ refusal: error });
      } finally {
        this.#waiting -= 1;
        this.#change({ isLoading: this.#waiting > 0 });
      }
    });
    this.#last = attempt.catch(() => {});
    await attempt;
  }

  #change(change: Partial<Shown>): void {
    this.#shown.value = { ...this.#shown.value, ...change };
  }
}

/** Reasons for which the states of the first cycles of a generation cannot be read. */
const NOT_STORED = ['cycle_trimmed', 'state_not_stored'];
