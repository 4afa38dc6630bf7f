/** A task and the time at which the task runs. */
export type SimulatedEvent = { readonly atMs: number; readonly order: number; task: () => void };

/** Replaces the task of a cancelled event. */
const nothing = (): void => undefined;

/** Priority queue of tasks by time. On ties, the task scheduled first runs first. */
export class EventQueue {
  /** Binary heap, ordered by time, then by insertion. */
  readonly #heap: SimulatedEvent[] = [];
  #order = 0;

  /** Schedules a task. */
  add(atMs: number, task: () => void): SimulatedEvent {
    this.#order += 1;
    const event = { atMs, order: this.#order, task };
    this.#heap.push(event);
    this.#rise(this.#heap.length - 1);
    return event;
  }

  /** Cancels a task. Its entry stays in the queue until its time. */
  cancel(event: SimulatedEvent): void {
    event.task = nothing;
  }

  /** Removes and returns the next task that is not cancelled. */
  next(): SimulatedEvent | undefined {
    let event = this.#take();
    while (event?.task === nothing) event = this.#take();
    return event;
  }

  #take(): SimulatedEvent | undefined {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (last === undefined || first === undefined || this.#heap.length === 0) return first;
    this.#heap[0] = last;
    this.#sink(0);
    return first;
  }

  #rise(from: number): void {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#isBefore(place, parent)) return;
      this.#swap(place, parent);
      place = parent;
    }
  }

  #sink(from: number): void {
    let place = from;
    for (;;) {
      let least = place;
      if (this.#isBefore(2 * place + 1, least)) least = 2 * place + 1;
      if (this.#isBefore(2 * place + 2, least)) least = 2 * place + 2;
      if (least === place) return;
      this.#swap(place, least);
      place = least;
    }
  }

  #isBefore(place: number, other: number): boolean {
    const one = this.#heap[place];
    const two = this.#heap[other];
    if (one === undefined || two === undefined) return false;
    return one.atMs < two.atMs || (one.atMs === two.atMs && one.order < two.order);
  }

  #swap(place: number, other: number): void {
    const one = this.#heap[place];
    const two = this.#heap[other];
    if (one === undefined || two === undefined) return;
    this.#heap[place] = two;
    this.#heap[other] = one;
  }
}
