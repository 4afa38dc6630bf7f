import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { etagOf } from '#engine/etag';
import { advance } from '#identity/advance';
import { STRESS_STATES } from '#identity/ladder';
import { newReport, readReport } from '#identity/report';
import { createState, MODEL_VERSION, resetToInitial, type State } from '#identity/state';
import type { HistoryRow, InstanceHead } from '#storage/instance-store';
import { ActorTables } from '#test/simulation/actor-tables';
import { checkListings } from '#test/simulation/check-listings';
import { checkOrder } from '#test/simulation/check-order';
import { checkStored } from '#test/simulation/check-stored';
import {
  type Call,
  History,
  markOf,
  nameOf,
  type Requested,
  type Seen,
  vitalsText,
} from '#test/simulation/history';
import { Violation } from '#test/simulation/version-index';

/*
 * A history that is in order in every respect, and a hundred ways to be out of it: a check that
 * finds nothing wrong with a planted violation is worth nothing.
 */

const INSTANCE = 'inst_00000000000000aa';
const ACCOUNT = 'acc1';
const CREATE = { kind: 'create', modeStrengths: [0.3, 0.2, 0.5, 0, 0.1, 0, 0], energyLevel: 0.8 };
const NOTHING: Seen = {
  etag: '',
  isThrottled: false,
  vitals: undefined,
  marks: undefined,
  listed: undefined,
  total: undefined,
};

/** An honest instance: every call is carried out at once, answered, and stored in the end. */
class Scene {
  readonly history = new History();
  readonly tables = new ActorTables();
  rows: HistoryRow[] = [];
  head: InstanceHead;
  #nowMs = 0;
  #version = 0;
  #generation = 1;
  #state: State;
  #name = '';
  readonly #report = newReport();

  constructor() {
    this.#state = createState(CREATE);
    const create = this.#do({ ...CREATE, kind: 'create' });
    this.#name = nameOf(create.id);
    this.head = this.#headNow();
  }

  process(): Call {
    const call = this.#begin({ kind: 'process', observations: [] });
    const timestampMs = Date.UTC(2020, 0, 1) + 60_000 * call.id;
    const contextJson = JSON.stringify({ mark: markOf(call.id, 0) });
    const seen = { mode: 2, signal: 0.7, confidence: 1, contextJson, timestampMs };
    const last = this.rows.findLast(({ generation }) => generation === this.#generation);
    advance(
      this.#state,
      seen,
      (timestampMs - (last?.timestampMs ?? timestampMs)) / 1_000,
      this.#state,
    );
    readReport(this.#state, this.#report);
    const { cycle } = this.#report.snapshot;
    const ordinal = this.rows.length + 1;
    this.rows.push({ ...seen, ordinal, generation: this.#generation, cycle });
    return this.#end(Object.assign(call, { requested: { kind: 'process', observations: [seen] } }));
  }

  reset(): Call {
    this.#state = resetToInitial(this.#state);
    this.#generation += 1;
    return this.#do({ kind: 'reset', mode: 'initial' });
  }

  rename(): Call {
    const call = this.#do({ kind: 'rename' });
    this.#name = nameOf(call.id);
    return call;
  }

  remove(): Call {
    const call = this.#do({ kind: 'remove' });
    this.head = { ...this.#headNow(), deletedAtMs: 1, model: new Float64Array(0), name: '' };
    return call;
  }

  read(): Call {
    const call = this.#begin({ kind: 'read' });
    return this.#answer(call, { ...this.#seenNow() });
  }

  readHistory(): Call {
    const marks = this.rows.map(({ contextJson }) => JSON.parse(contextJson).mark).reverse();
    const call = this.#begin({ kind: 'readHistory' });
    return this.#answer(call, { ...NOTHING, marks, total: marks.length });
  }

  list(): Call {
    const call = this.#begin({ kind: 'list' });
    call.instance = '';
    const isGone = this.head.deletedAtMs !== undefined;
    const listed = new Map(isGone ? [] : [[INSTANCE, this.#name]]);
    return this.#answer(call, { ...NOTHING, listed, total: listed.size });
  }

  /** A refusal of something that did not happen. */
  refuse(requested: Requested): Call {
    const call = this.#begin(requested);
    this.#answer(call, NOTHING);
    call.outcome = { kind: 'refused', code: 'service_unavailable', reason: undefined };
    return call;
  }

  /** Writes the stores as they are in the end. */
  store(): this {
    if (this.head.deletedAtMs === undefined) this.head = this.#headNow();
    const { version, deletedAtMs, name } = this.head;
    const row = { instanceId: INSTANCE, version, name, description: '', createdAtMs: 0 };
    if (deletedAtMs !== undefined) this.tables.putLine(ACCOUNT, INSTANCE, version, undefined);
    else {
      this.tables.putRows(INSTANCE, version, { history: this.rows, drift: [], answers: [] });
      this.tables.putLine(ACCOUNT, INSTANCE, version, row);
    }
    this.tables.putHead(INSTANCE, this.head);
    return this;
  }

  check(): void {
    checkOrder(this.history);
    checkStored(this.history, this.tables);
    checkListings(this.history, this.tables);
  }

  /** The one line that the checks find. */
  violation(): string {
    try {
      this.check();
    } catch (error) {
      if (error instanceof Violation) return error.message;
      throw error;
    }
    return 'nothing';
  }

  #do(requested: Requested): Call {
    return this.#end(this.#begin(requested));
  }

  #begin(requested: Requested): Call {
    this.#nowMs += 10;
    const fields = { requested, account: ACCOUNT, instance: INSTANCE, ifMatch: undefined };
    return this.history.begin({ ...fields, invokedMs: this.#nowMs });
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
    readReport(this.#state, this.#report);
    const { cycle, energy, stressLevel } = this.#report.snapshot;
    const shown = Math.round(energy * 1e6) / 1e6;
    const vitals = vitalsText(cycle, shown, STRESS_STATES[stressLevel] ?? '');
    return { ...NOTHING, etag: etagOf(INSTANCE, this.#version), vitals };
  }

  #headNow(): InstanceHead {
    return {
      version: this.#version,
      accountId: ACCOUNT,
      name: this.#name,
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
      modelVersion: MODEL_VERSION,
      model: this.#state.slice(),
      recentCalls: [],
    };
  }
}

/** An instance with a life behind it. */
function lived(): Scene {
  const scene = new Scene();
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

/** Changes what an answer said. */
function retell(call: Call, seen: Partial<Seen>): void {
  if (call.outcome.kind !== 'answered') throw new Error('it was not answered');
  call.outcome = { kind: 'answered', seen: { ...call.outcome.seen, ...seen } };
}

const checks = suite('the checks of a simulated history');

checks('find nothing in an honest one', () => {
  assert.is(lived().store().violation(), 'nothing');
  const gone = lived();
  gone.remove();
  gone.list();
  assert.is(gone.store().violation(), 'nothing');
});

checks('find two calls with one version', () => {
  const scene = lived();
  const [a, b] = [scene.process(), scene.process()];
  b.endedMs = a.endedMs;
  Object.assign(b, { invokedMs: a.invokedMs });
  retell(b, { etag: a.outcome.kind === 'answered' ? a.outcome.seen.etag : '' });
  assert.match(scene.store().violation(), /share version/);
});

checks('find a read that goes back', () => {
  const scene = lived();
  retell(scene.read(), { etag: etagOf(INSTANCE, 2), vitals: undefined });
  assert.match(scene.store().violation(), /was answered with version 2 after/);
});

checks('find a write that was ordered before what its caller had seen', () => {
  const scene = lived();
  const first = scene.process();
  const second = scene.process();
  const { outcome } = first;
  first.outcome = second.outcome;
  second.outcome = outcome;
  assert.match(scene.store().violation(), /after call/);
});

checks('find two contents of one version', () => {
  const scene = lived();
  retell(scene.read(), { vitals: vitalsText(1, 0.5, 'LOW') });
  assert.match(scene.store().violation(), /version \d+ was ".*" for call/);
});

checks('find a condition that was not kept', () => {
  const scene = lived();
  Object.assign(scene.rename(), { ifMatch: etagOf(INSTANCE, 3) });
  assert.match(scene.store().violation(), /was bound to 3/);
});

checks('find an acknowledged observation that is lost', () => {
  const scene = lived();
  scene.rows.pop();
  assert.match(scene.store().violation(), /is lost|come to its state/);
});

checks('find a row that is missing though the head counts it', () => {
  const scene = lived().store();
  const stored = scene.tables.head(INSTANCE);
  if (stored !== undefined) {
    scene.tables.putHead(INSTANCE, { ...stored, historyCount: stored.historyCount + 1 });
  }
  assert.match(scene.violation(), /rows are stored/);
});

checks('find an observation that is there twice', () => {
  const scene = lived();
  const [first] = scene.rows;
  if (first !== undefined) scene.rows.push({ ...first, ordinal: scene.rows.length + 1 });
  assert.match(scene.store().violation(), /there twice/);
});

checks('find a refused observation that is there', () => {
  const scene = lived();
  const call = scene.process();
  call.outcome = { kind: 'refused', code: 'service_unavailable', reason: undefined };
  assert.match(scene.store().violation(), /refused, and it is there|acknowledged and/);
});

checks('find a throttled observation that is there', () => {
  const scene = lived();
  const call = scene.process();
  scene.history.begin({
    requested: { kind: 'rename' },
    account: ACCOUNT,
    instance: INSTANCE,
    ifMatch: undefined,
    invokedMs: 0,
  });
  retell(call, { isThrottled: true });
  assert.match(scene.store().violation(), /refused, and it is there/);
});

checks('find a state that the history does not come to', () => {
  const scene = lived().store();
  const stored = scene.tables.head(INSTANCE);
  const model = stored?.model.slice() ?? new Float64Array(0);
  model[0] = (model[0] ?? 0) + 2 ** -40;
  if (stored !== undefined) scene.tables.putHead(INSTANCE, { ...stored, model });
  assert.match(scene.violation(), /does not come to its state/);
});

checks('find an answer whose state the history does not pass through', () => {
  const scene = lived();
  retell(scene.process(), { vitals: vitalsText(9, 0.1, 'LOW') });
  assert.match(scene.store().violation(), /does not come to its state/);
});

checks('find a version that nobody made, and one that was answered and is not stored', () => {
  const more = lived().store();
  const stored = more.tables.head(INSTANCE);
  if (stored !== undefined) more.tables.putHead(INSTANCE, { ...stored, version: 99 });
  assert.match(more.violation(), /version 99 after/);
  const less = lived();
  less.store();
  less.read();
  less.process();
  assert.match(less.violation(), /after \d+ acknowledged/);
});

checks('find a name that was refused', () => {
  const scene = lived();
  const call = scene.rename();
  call.outcome = { kind: 'refused', code: 'conflict', reason: 'version_mismatch' };
  scene.history.begin({
    requested: { kind: 'reset', mode: 'initial' },
    account: ACCOUNT,
    instance: INSTANCE,
    ifMatch: undefined,
    invokedMs: 0,
  });
  assert.match(scene.store().violation(), /the name .* was refused/);
});

checks('find a history that lacks something, holds it twice, or counts wrongly', () => {
  const lacking = lived();
  retell(lacking.readHistory(), { marks: [markOf(2, 0)], total: 1 });
  assert.match(lacking.store().violation(), /lacks call/);
  const twice = lived();
  retell(twice.readHistory(), { marks: [markOf(2, 0), markOf(2, 0)], total: 2 });
  assert.match(twice.store().violation(), /something twice/);
  const wrong = lived();
  retell(wrong.readHistory(), { total: 99 });
  assert.match(wrong.store().violation(), /of 99/);
});

checks('find an instance that lives on after its delete, in any way', () => {
  const answered = lived();
  answered.remove();
  answered.read();
  assert.match(answered.store().violation(), /answered after the delete/);
  const rows = lived();
  rows.remove();
  rows.store().tables.putRows(INSTANCE, 1, { history: rows.rows, drift: [], answers: [] });
  assert.match(rows.violation(), /rows are left/);
  const back = lived();
  const head = back.store().tables.head(INSTANCE);
  const { id } = back.remove();
  if (head !== undefined) back.tables.putHead(INSTANCE, { ...head, version: head.version + 1 });
  assert.match(back.violation(), new RegExp(`call ${id} deleted it`));
});

checks('find an instance that is deleted and nobody did it', () => {
  const scene = lived();
  const remove = scene.remove();
  remove.outcome = { kind: 'refused', code: 'conflict', reason: undefined };
  scene.history.begin({
    requested: { kind: 'rename' },
    account: ACCOUNT,
    instance: INSTANCE,
    ifMatch: undefined,
    invokedMs: 0,
  });
  assert.match(scene.store().violation(), /nobody has done that/);
});

checks('find an instance that was not found though it is there', () => {
  const scene = lived();
  const call = scene.refuse({ kind: 'read' });
  call.outcome = { kind: 'refused', code: 'not_found', reason: undefined };
  assert.match(scene.store().violation(), /did not find it/);
});

checks('find listings that lack an instance, show a deleted one, or count wrongly', () => {
  const lacking = lived();
  retell(lacking.list(), { listed: new Map(), total: 0 });
  assert.match(lacking.store().violation(), /lacks inst_/);
  const shown = lived();
  shown.remove();
  retell(shown.list(), { listed: new Map([[INSTANCE, 'n1']]), total: 1 });
  assert.match(shown.store().violation(), /after its delete/);
  const wrong = lived();
  retell(wrong.list(), { total: 2 });
  assert.match(wrong.store().violation(), /total is 2/);
});

checks('find stored listings that differ from what is there', () => {
  const unlisted = lived().store();
  unlisted.tables.putLine(ACCOUNT, INSTANCE, 99, undefined);
  assert.match(unlisted.violation(), /not listed/);
  const misnamed = lived().store();
  const [row] = misnamed.tables.lines(ACCOUNT);
  if (row !== undefined) {
    misnamed.tables.putLine(ACCOUNT, INSTANCE, 99, { ...row, name: 'n999' });
  }
  assert.match(misnamed.violation(), /listed as "n999"/);
});

checks('find an orphan that nobody may have made', () => {
  const scene = lived().store();
  const head = scene.tables.head(INSTANCE);
  if (head !== undefined) scene.tables.putHead('inst_00000000000000bb', { ...head, name: 'n77' });
  assert.match(scene.violation(), /nobody has made "n77"/);
});

checks.run();
