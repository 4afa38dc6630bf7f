import { itemsOf, memberOf, valueAt, withoutMember } from '#edge/json-scan';

/** Member of an observation of a batch that has its key. */
const ITEM_KEY = 'idempotency_key';

/**
 * Idempotency key of a batch's item, with the text of the item without the key: what a single call with
 * the same observation has as its body (decision 280).
 */
export class ItemKeySource {
  readonly key: string;
  readonly observationText: string;

  constructor(key: string, observationText: string) {
    this.key = key;
    this.observationText = observationText;
  }
}

/** Observations in a body. */
type Item = { [ITEM_KEY]?: unknown };

/**
 * Puts sources in place of the keys of a batch's items that was parsed from `text`. Costs a look at each
 * observation where none has a key.
 */
export function keepItemKeys(value: unknown, text: string): void {
  if (typeof value !== 'object' || value === null) return;
  const { observations } = value as { readonly observations?: unknown };
  if (!Array.isArray(observations) || !observations.some(hasKey)) return;
  const list = memberOf(text, valueAt(text, 0).start, 'observations');
  const spans = list === undefined ? [] : itemsOf(text, list.start);
  observations.forEach((observation: unknown, index) => {
    const span = spans[index];
    if (span === undefined || !hasKey(observation)) return;
    const key = observation[ITEM_KEY];
    const rest = withoutMember(text, span.start, ITEM_KEY);
    if (typeof key !== 'string' || rest === undefined) return;
    observation[ITEM_KEY] = new ItemKeySource(key, rest);
  });
}

function hasKey(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, ITEM_KEY);
}
