/** A delayed answer that an actor host does not recognize as a promise. */
export class Later {
  readonly #answer: Promise<unknown>;

  constructor(answer: Promise<unknown>) {
    this.#answer = answer;
  }

  // biome-ignore lint/suspicious/noThenProperty: awaitable, but no promise
  get then() {
    return this.#answer.then.bind(this.#answer);
  }
}
