import { compactJson, itemsOf, type JsonSpan, memberOf, valueAt } from '#edge/json-scan';

/**
 * A context as a value, for checking, and as the caller's own text, for keeping: a parser's objects
 * round numbers to doubles and put keys that look like numbers first (decision 153).
 */
export class ContextSource {
  readonly value: object;
  readonly json: string;

  constructor(value: object, json: string) {
    this.value = value;
    this.json = json;
  }
}

/** A body in which a context, or each observation's, may be. */
type Body = { context?: unknown; readonly observations?: unknown };

/**
 * Puts sources in place of the contexts of an observation or a batch that was parsed from `text`.
 * Costs a look where there are none.
 */
export function keepContexts(value: unknown, text: string): void {
  if (!isObject(value)) return;
  const body: Body = value;
  if (isContext(body.context)) {
    const json = JSON.stringify(body.context);
    // Most callers write JSON as JavaScript does: then nothing has been lost, and nothing is
    // searched.
    if (text.includes(`"context":${json}`)) body.context = new ContextSource(body.context, json);
    else keepContext(body, text, valueAt(text, 0));
  }
  const { observations } = body;
  if (!Array.isArray(observations) || !observations.some(hasContext)) return;
  const list = memberOf(text, valueAt(text, 0).start, 'observations');
  const spans = list === undefined ? [] : itemsOf(text, list.start);
  observations.forEach((observation: unknown, index) => {
    const span = spans[index];
    if (span !== undefined && hasContext(observation)) keepContext(observation, text, span);
  });
}

function keepContext(owner: Body, text: string, { start }: JsonSpan): void {
  const span = memberOf(text, start, 'context');
  if (span === undefined || !isContext(owner.context)) return;
  // Copied: a piece of a text keeps all of it in memory, here a whole body.
  const json = Buffer.from(compactJson(text.slice(span.start, span.end))).toString();
  owner.context = new ContextSource(owner.context, json);
}

function hasContext(value: unknown): value is Body {
  return isObject(value) && isContext((value as Body).context);
}

/** What is no object is refused as it is. */
function isContext(value: unknown): value is object {
  return isObject(value) && !Array.isArray(value);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
