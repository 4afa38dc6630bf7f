/** A delayed answer that its host does not recognize as a promise. */
export class Later {
  readonly #answer: Promise<unknown>;

  constructor(answer: Promise<unknown>) {
    this.#answer = answer;
  }

  // biome-ignore lint/suspicious/noThenProperty: it is to be awaited without being a promise
  get then() {
    return this.#answer.then.bind(this.#answer);
  }
}
