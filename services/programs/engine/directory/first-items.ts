/** Items that are added between two sorts at least. */
const SLACK = 256;

/** The first `count` items in the order of `compare`, of any number of added items. */
export class FirstItems<Item> {
  readonly #count: number;
  readonly #compare: (a: Item, b: Item) => number;
  #items: Item[] = [];
  #last: Item | undefined;

  constructor(count: number, compare: (a: Item, b: Item) => number) {
    this.#count = count;
    this.#compare = compare;
  }

  /** Item that a further item must precede; undefined: every item can be among the first. */
  get last(): Item | undefined {
    return this.#last;
  }

  add(item: Item): void {
    if (this.#last !== undefined && this.#compare(item, this.#last) >= 0) return;
    this.#items.push(item);
    // Sorting at twice the count takes a constant time per item on average.
    if (this.#items.length >= 2 * this.#count + SLACK) this.#sort();
  }

  /** The first items, in order. */
  get sorted(): readonly Item[] {
    this.#sort();
    return this.#items;
  }

  #sort(): void {
    this.#items.sort(this.#compare);
    this.#items = this.#items.slice(0, this.#count);
    if (this.#items.length === this.#count) this.#last = this.#items.at(-1);
  }
}
