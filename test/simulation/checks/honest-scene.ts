import { etagOf } from '#engine/instance/keyed-answers';
import { MODELS } from '#identity/model';
import { newReport } from '#identity/report';
import { STRESS_STATES, type State } from '#identity/state';
import {
  type Floor,
  type HistoryRow,
  type InstanceHead,
  NO_ROWS,
  NO_TAGS,
} from '#storage/ports/instances';
import { OBSERVATIONS } from '#storage/ports/rows';
import {
  type Call,
  History,
  markOf,
  nameSetBy,
  type Requested,
  type Seen,
  type TagChange,
  type Texts,
  tagsSetBy,
  vitalsText,
} from '#test/simulation/checks/history';
import { checkListings } from '#test/simulation/checks/listings';
import { checkOrder } from '#test/simulation/checks/order';
import { checkStored } from '#test/simulation/checks/stored';
import { checkTexts } from '#test/simulation/checks/texts';
import { ActorTables } from '#test/simulation/simulated/actor-tables';
import { Violation } from '#test/simulation/stored/version-index';
import { chunksOf } from '#test/storage/contracts/rows';

const { newest } = MODELS;

/** Instance and account of a scene. */
export const INSTANCE = 'inst_00000000000000aa';
export const ACCOUNT = 'acc1';
const CREATE = { modeStrengths: [0.3, 0.2, 0.5, 0, 0.1, 0, 0], energyLevel: 0.8 };
/** A change of name and tags. */
const RENAMED = { hasName: true, tags: 'set' } as const;
const NOTHING: Seen = {
  etag: '',
  isThrottled: false,
  vitals: undefined,
  texts: undefined,
  marks: undefined,
  listed: undefined,
  total: undefined,
};

/** A correct instance: applies and answers every call at once; `store` writes the final tables. */
export class HonestScene {
  readonly history = new History();
  readonly tables = new ActorTables();
  rows: HistoryRow[] = [];
  head: InstanceHead;
  #nowMs = 0;
  #floor: Floor | undefined;
  #version = 0;
  #generation = 1;
  #state: State;
  /** Present name and tags. */
  #texts: Texts = { name: '', tagsJson: NO_TAGS };
  readonly #report = newReport();

  constructor() {
    this.#state = newest.create(CREATE);
    this.#name({ ...CREATE, kind: 'create', tags: 'set' });
    this.head = this.#headNow();
  }

  process(): Call {
    const call = this.#begin({ kind: 'process', observations: [] });
    const timestampMs = Date.UTC(2020, 0, 1) + 60_000 * call.id;
    const contextJson = JSON.stringify({ mark: markOf(call.id, 0) });
    const seen = { mode: 2, signal: 0.7, confidence: 1, contextJson, timestampMs };
    const last = this.rows.findLast(({ generation }) => generation === this.#generation);
    newest.advance(
      this.#state,
      seen,
      (timestampMs - (last?.timestampMs ?? timestampMs)) / 1_000,
      this.#state,
    );
    newest.readReport(this.#state, this.#report);
    const { cycle } = this.#report.snapshot;
    const ordinal = this.rows.length + 1;
    this.rows.push({ ...seen, ordinal, generation: this.#generation, cycle });
    return this.#end(Object.assign(call, { requested: { kind: 'process', observations: [seen] } }));
  }

  reset(): Call {
    this.#state = newest.resetToInitial(this.#state);
    this.#generation += 1;
    return this.#do({ kind: 'reset', mode: 'initial' });
  }

  /** Changes the name, the tags, or both. */
  rename(fields: { readonly hasName: boolean; readonly tags: TagChange } = RENAMED): Call {
    return this.#name({ kind: 'rename', ...fields });
  }

  remove(): Call {
    const call = this.#do({ kind: 'remove' });
    this.head = { ...this.#headNow(), deletedAtMs: 1, model: new Float64Array(0), name: '' };
    return call;
  }

  read(): Call {
    const call = this.#begin({ kind: 'read' });
    return this.#answer(call, { ...this.#seenNow(), texts: this.#texts });
  }

  readHistory(): Call {
    const left = this.rows.slice(this.#floor?.history ?? 0);
    const marks = left.map(({ contextJson }) => JSON.parse(contextJson).mark).reverse();
    const call = this.#begin({ kind: 'readHistory' });
    return this.#answer(call, { ...NOTHING, marks, total: marks.length });
  }

  /** Trims the oldest `count` observations. */
  trim(count: number): Call {
    const trimmed = this.rows.slice(0, count);
    const marks = trimmed.map(({ contextJson }) => JSON.parse(contextJson).mark);
    const { generation, cycle, timestampMs } = trimmed.at(-1) ?? {
      generation: 1,
      cycle: 0,
      timestampMs: 0,
    };
    this.#floor = { history: count, drift: 0, generation, cycle, timestampMs, state: undefined };
    const call = this.#begin({ kind: 'trim', marks });
    this.#version += 1;
    return this.#answer(call, NOTHING);
  }

  list(): Call {
    const call = this.#begin({ kind: 'list' });
    call.instance = '';
    const isGone = this.head.deletedAtMs !== undefined;
    const listed = new Map(isGone ? [] : [[INSTANCE, this.#texts]]);
    return this.#answer(call, { ...NOTHING, listed, total: listed.size });
  }

  /** Adds a refused call, which changes nothing. */
  refuse(requested: Requested): Call {
    const call = this.#begin(requested);
    this.#answer(call, NOTHING);
    call.outcome = { kind: 'refused', code: 'service_unavailable', reason: undefined };
    return call;
  }

  /** Adds a call without an end. */
  begin(requested: Requested, invokedMs: number): Call {
    const fields = { requested, account: ACCOUNT, instance: INSTANCE, ifMatch: undefined };
    return this.history.begin({ ...fields, invokedMs });
  }

  /** Writes the final tables. */
  store(): this {
    if (this.head.deletedAtMs === undefined) this.head = this.#headNow();
    const { version, deletedAtMs, name } = this.head;
    const row = { instanceId: INSTANCE, version, name, description: '', createdAtMs: 0 };
    if (deletedAtMs !== undefined) this.tables.putLine(ACCOUNT, INSTANCE, version, undefined);
    else {
      const history = chunksOf(OBSERVATIONS, this.rows.slice(this.#floor?.history ?? 0));
      this.tables.putRows(INSTANCE, version, { history, drift: [], answers: [] });
      this.tables.putLine(ACCOUNT, INSTANCE, version, row);
    }
    this.tables.putHead(INSTANCE, this.head);
    return this;
  }

  check(): void {
    checkOrder(this.history);
    checkTexts(this.history);
    checkStored(this.history, this.tables);
    checkListings(this.history, this.tables);
  }

  /** Message of the violation that the checks find; `nothing` without a violation. */
  violation(): string {
    try {
      this.check();
    } catch (error) {
      if (error instanceof Violation) return error.message;
      throw error;
    }
    return 'nothing';
  }

  /** Makes a call that sets the name, the tags, or both. */
  #name(requested: Requested): Call {
    const call = this.#begin(requested);
    const { name, tagsJson } = this.#texts;
    this.#texts = { name: nameSetBy(call) ?? name, tagsJson: tagsSetBy(call) ?? tagsJson };
    this.#version += 1;
    return this.#answer(call, { ...this.#seenNow(), texts: this.#texts });
  }

  #do(requested: Requested): Call {
    return this.#end(this.#begin(requested));
  }

  #begin(requested: Requested): Call {
    this.#nowMs += 10;
    return this.begin(requested, this.#nowMs);
  }

  #end(call: Call): Call {
    this.#version += 1;
    return this.#answer(call, this.#seenNow());
  }

  #answer(call: Call, seen: Seen): Call {
    this.#nowMs += 10;
    call.endedMs = this.#nowMs;
    call.outcome = { kind: 'answered', seen };
    return call;
  }

  #seenNow(): Seen {
    newest.readReport(this.#state, this.#report);
    const { cycle, energy, stressLevel } = this.#report.snapshot;
    const shown = Math.round(energy * 1e6) / 1e6;
    const vitals = vitalsText(cycle, shown, STRESS_STATES[stressLevel] ?? '');
    return { ...NOTHING, etag: etagOf(INSTANCE, this.#version), vitals };
  }

  #headNow(): InstanceHead {
    return {
      version: this.#version,
      accountId: ACCOUNT,
      ...this.#texts,
      description: '',
      createdAtMs: 0,
      updatedAtMs: 0,
      deletedAtMs: undefined,
      originMs: 0,
      observedAtMs: undefined,
      generation: this.#generation,
      historyCount: this.rows.length,
      historyStart: 0,
      driftCount: 0,
      driftStart: 0,
      newestHistory: { after: this.rows.length, rows: '' },
      newestDrift: NO_ROWS,
      ...(this.#floor === undefined ? {} : { floor: this.#floor }),
      modelVersion: newest.version,
      model: this.#state.slice(),
      recentCalls: [],
    };
  }
}

/** A correct instance with calls of several kinds. */
export function lived(): HonestScene {
  const scene = new HonestScene();
  scene.process();
  scene.process();
  scene.read();
  scene.list();
  scene.reset();
  scene.rename();
  scene.process();
  scene.readHistory();
  return scene;
}

/** Changes fields of a call's answer. */
export function reanswer(call: Call, seen: Partial<Seen>): void {
  if (call.outcome.kind !== 'answered') throw new Error(`call ${call.id} was not answered`);
  call.outcome = { kind: 'answered', seen: { ...call.outcome.seen, ...seen } };
}
