/* Results of a fleet call, as JSON text. */
import type { FleetItem } from '#edge/endpoints/endpoint';
import type { FleetStatus } from '#edge/schemas/answers';
import type { EdgeAnswer } from '#edge/serve/engine-calls';
import { faultReply } from '#edge/serve/reply';
import { FAULTS } from '#errors/error-codes';
import { type Fault, invalid } from '#errors/fault';
import { BRIEF_START, bodyText } from '#grpc/engine-messages';

/** Result of an observation. */
export type Outcome = {
  readonly status: FleetStatus;
  /** Members of the result after `status`, as JSON text that starts with a comma, or empty. */
  readonly members: string;
  /** Cycles that the observation used: 0 or 1. */
  readonly cycles: number;
  /** Whether the observation may have used another reserved cycle. */
  readonly isUnknown?: boolean;
  /** The refusal; undefined for other results. */
  readonly fault?: Fault;
};

/** Results of a call. */
export type FleetAnswer = {
  /** Body of the answer as JSON in UTF-8. */
  readonly body: Uint8Array;
  readonly cyclesUsed: number;
  /** Cycles of observations with unknown outcome, which are charged too. */
  readonly cyclesUnknown: number;
  /** Whether an earlier call has, or may have, applied an observation. */
  readonly hasReplays: boolean;
};

/** Result of an observation that was not sent. */
export const NOT_ATTEMPTED: Outcome = {
  status: 'not_attempted',
  members: ',"retry":"after"',
  cycles: 0,
};

/** Result of an observation that its engine answered. */
export function outcomeOf(answer: EdgeAnswer, isStateWanted: boolean): Outcome {
  const { throttledRetryAfterS, isReplayed, isPerhapsOwn, cycles } = answer;
  const state = stateOf(bodyText(answer), isStateWanted);
  if (throttledRetryAfterS > 0) {
    const members = `${state},"retry":"after","retry_after":${throttledRetryAfterS}`;
    return { status: 'throttled', members, cycles };
  }
  const status = isReplayed ? 'replayed' : 'applied';
  // The answer may belong to a lost attempt of this call, whose cycle is then charged.
  return { status, members: state, cycles, isUnknown: isPerhapsOwn === true };
}

const DATA_START = '{"data":{';
const DATA_END = '}}';

/**
 * State of an instance as members of a result. `body`: brief answer, or answer to a single call, as
 * JSON. An engine of an earlier release never answers briefly.
 */
function stateOf(body: string, isStateWanted: boolean): string {
  if (body.startsWith(BRIEF_START)) return `,${body.slice(1, -1)}`;
  const whole = isStateWanted ? `,${body.slice(DATA_START.length, -DATA_END.length)}` : '';
  return (copiedState(body) ?? parsedState(body)) + whole;
}

/**
 * The state, copied from the text of an answer: parsing an answer costs as much as a cycle of the
 * model. Undefined if the answer of a later release has another order of members. No text of a
 * caller is in the answer.
 */
function copiedState(body: string): string | undefined {
  const cycle = memberAt(body, '"cycle":', ',', 0);
  const stress = memberAt(body, '"stress_state":', ',', cycle.end);
  const allowed = memberAt(body, '"allowed_actions":', ']', stress.end);
  const forbidden = memberAt(body, ',"forbidden_actions":', ']', allowed.end);
  const level = memberAt(body, '"drift":{"level":', ',', forbidden.end);
  if (level.end === NOT_FOUND) return undefined;
  return (
    `,"cycle":${cycle.text},"stress_state":${stress.text},"drift_level":${level.text}` +
    `,"allowed_actions":${allowed.text}],"forbidden_actions":${forbidden.text}]`
  );
}

/** End of a member that a text does not have, and of all members behind it. */
const NOT_FOUND = Number.POSITIVE_INFINITY;

/** The value between `start` and the next `end`, from index `from` on. */
function memberAt(body: string, start: string, end: string, from: number) {
  const found = body.indexOf(start, from);
  const at = found + start.length;
  const endsAt = found < 0 ? -1 : body.indexOf(end, at);
  return endsAt < 0 ? { text: '', end: NOT_FOUND } : { text: body.slice(at, endsAt), end: endsAt };
}

/** The parts of an answer that a result shows. */
type State = {
  readonly data: {
    readonly snapshot: { readonly cycle: number; readonly stress_state: string };
    readonly contract: {
      readonly allowed_actions: readonly string[];
      readonly forbidden_actions: readonly string[];
    };
    readonly drift: { readonly level: string };
  };
};

function parsedState(body: string): string {
  const { snapshot, contract, drift } = (JSON.parse(body) as State).data;
  const { allowed_actions, forbidden_actions } = contract;
  const { cycle, stress_state } = snapshot;
  const shown = {
    cycle,
    stress_state,
    drift_level: drift.level,
    allowed_actions,
    forbidden_actions,
  };
  return `,${JSON.stringify(shown).slice(1, -1)}`;
}

/** A fault that names the key of an observation instead of a header, which only a single call has. */
export function ofItem(fault: Fault, index: number): Fault {
  if (fault.reason !== 'idempotency_key_reused') return fault;
  const field = `observations[${index}].idempotency_key`;
  return invalid(fault.reason, field, `${field}: was used for another observation`);
}

/** Result of a refused observation. */
export function refusedOutcome(fault: Fault, requestId: string): Outcome {
  const { status: httpStatus, body } = faultReply(fault, requestId);
  const isUnknown = fault.isOutcomeUnknown || fault.code === 'internal';
  const wait = fault.retryAfterS === undefined ? '' : `,"retry_after":${fault.retryAfterS}`;
  const members = `,"retry":"${retryOf(fault, isUnknown)}"${wait},"http_status":${httpStatus},"refusal":${body}`;
  return { status: isUnknown ? 'unknown' : 'refused', members, cycles: 0, isUnknown, fault };
}

function retryOf({ code }: Fault, isUnknown: boolean): string {
  if (isUnknown) return 'same_key';
  return FAULTS[code].isRetryable || code === 'quota_exceeded' ? 'after' : 'never';
}

/** The answer with all results, in input order. */
export function answerOf(
  items: readonly FleetItem[],
  outcomes: readonly Outcome[],
): FleetAnswer & { readonly summary: Readonly<Record<FleetStatus, number>> } {
  const summary = {
    ...{ applied: 0, replayed: 0, throttled: 0 },
    ...{ refused: 0, unknown: 0, not_attempted: 0 },
  };
  let cyclesUsed = 0;
  let cyclesUnknown = 0;
  const results = new GrowingText();
  for (const [index, outcome] of outcomes.entries()) {
    const { status, members, cycles } = outcome;
    summary[status] += 1;
    cyclesUsed += cycles;
    if (outcome.isUnknown === true) cyclesUnknown += 1;
    const start = index === 0 ? '{"index":' : ',{"index":';
    results.add(`${start}${index}${namesOf(items[index])},"status":"${status}"${members}}`);
  }
  const start = `{"data":{"summary":${JSON.stringify(summary)},"results":[`;
  const body = Buffer.concat([Buffer.from(start), results.bytes, Buffer.from(']}}')]);
  const hasReplays = summary.replayed + summary.unknown > 0;
  return { body, cyclesUsed, cyclesUnknown, hasReplays, summary };
}

/** Bytes of the results of a full call, without whole states. */
const RESULTS_BYTES = 256 * 1_024;

/** Maximum bytes of UTF-8 per UTF-16 unit. */
const BYTES_PER_UNIT_MAX = 3;

/** Text in UTF-8 that grows. Takes a third of the time of joining a thousand texts. */
class GrowingText {
  #bytes = Buffer.allocUnsafe(RESULTS_BYTES);
  #length = 0;

  add(text: string): void {
    const end = this.#length + BYTES_PER_UNIT_MAX * text.length;
    if (end > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * end);
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** The text so far. Valid until the next `add`. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** Instance and key of an item, as members of its result. */
function namesOf(item: FleetItem | undefined): string {
  if (item?.instanceId === undefined) return '';
  const id = `,"instance_id":${JSON.stringify(item.instanceId)}`;
  if (item.kind === 'refused' || item.idempotency === undefined) return id;
  return `${id},"idempotency_key":${JSON.stringify(item.idempotency.key)}`;
}
