import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MODE_KEYS } from '#identity/modes';
import { AGENT, agentDay, agentHome, type Moment } from '#test/support/calls/agent-day';
import { limitOf, MORNING_MS, morning, sharedScene } from '#test/support/calls/scene';
import { assertServed, ModelReplay } from '#test/support/model-replay';

const { newCaller } = await sharedScene();
const caller = await newCaller({ cyclesPerMonth: 1_000 });

type Json = ReturnType<typeof JSON.parse>;
type Observed = Extract<Moment, { kind: 'observed' }>;

/** Number of moments of the day between two checks of all reads. */
const READ_EVERY = 20;

const RISKY = ['challenge', 'pivot', 'explore', 'execute'];
const SAFE_WHEN_OVER = ['clarify', 'stabilize', 'defer', 'withdraw'];

/** Asserts the contract properties that hold in every state (model 7.1, property 8). */
function assertContract(contract: Json, level: string): void {
  const { allowed_actions: allowed, forbidden_actions: forbidden } = contract;
  const { stress_state: stress, recovery_profile: recovery, decision_style: style } = contract;
  const has = (list: string[], actions: string[]) => actions.every((one) => list.includes(one));
  assert.ok(allowed.length > 0);
  assert.not.ok(allowed.some((action: string) => forbidden.includes(action)));
  assert.not.ok(forbidden.includes('stabilize'));
  assert.ok(contract.dominant_modes.length <= 2);
  const suppressed: string[] = contract.suppressed_modes;
  assert.not.ok(contract.dominant_modes.some((mode: string) => suppressed.includes(mode)));
  if (stress !== 'LOW') assert.ok(forbidden.includes('challenge'));
  if (stress === 'HIGH' || stress === 'OVER') {
    assert.ok(has(allowed, ['stabilize', 'defer']), stress);
    assert.ok(has(forbidden, RISKY), stress);
  }
  if (stress === 'HIGH') assert.ok(['slow', 'measured'].includes(style.tempo));
  if (stress === 'OVER') {
    assert.ok(allowed.includes('withdraw') && has(SAFE_WHEN_OVER, allowed));
    assert.equal([style.tempo, style.risk], ['paused', 'avoidant']);
    assert.ok(recovery.support_required && recovery.cooldown_required);
  }
  if (level === 'D3') assert.ok(recovery.cooldown_required);
}

/**
 * Sends the moments of a day to one instance, and replays the same moments with the pure model.
 * Records the rows that history and drift must show.
 */
class Diary {
  readonly id: string;
  readonly replay: ModelReplay;
  readonly history: Json[] = [];
  readonly events: Json[] = [];
  readonly seen = new Set<string>();
  generation = 1;
  cycle = 0;
  last: Json;

  constructor(id: string, createdMs: number) {
    this.id = id;
    this.replay = new ModelReplay(createdMs, { modeStrengths: agentHome() });
  }

  async live(moment: Moment): Promise<void> {
    switch (moment.kind) {
      case 'observed':
        return this.#observe(moment);
      case 'hasty':
        return this.#hurry();
      case 'reset':
        return this.#reset(moment.mode);
    }
  }

  /** Asserts that all reads agree with the recorded day and with the last answer. */
  async look(): Promise<void> {
    const read = async (path: string) =>
      (await caller.send('GET', `/instances/${this.id}${path}`)).body;
    const [instance, now, contract] = await Promise.all(['', '/snapshot', '/contract'].map(read));
    const [history, drift] = await Promise.all(['/history?limit=5', '/drift'].map(read));
    const { created_at: _, updated_at, cycle_count, set_point, ...snapshot } = now.data;
    assert.is(cycle_count, this.cycle);
    assert.is(instance.data.cycle_count, this.cycle);
    assert.is(instance.data.updated_at, updated_at);
    if (this.cycle > 0) {
      assert.equal(snapshot, this.last.snapshot);
      assert.equal(contract.data, this.last.contract);
    }
    const records = this.#ofNow(this.history);
    assert.equal(history.data, records.slice(0, 5));
    assert.is(history.pagination.total, this.cycle);
    assert.equal(drift.data, this.#ofNow(this.events));
    assert.is(drift.pagination.total, drift.data.length);
  }

  /** Expected rows, newest first, as `generation=all` shows them. */
  all(rows: readonly Json[]): Json[] {
    return rows.toReversed();
  }

  #ofNow(rows: readonly Json[]): Json[] {
    const current = rows.filter(({ generation }) => generation === this.generation);
    return current.map(({ generation: _, ...row }) => row).toReversed();
  }

  async #observe({ kind: _, atS, ...seen }: Observed): Promise<void> {
    const timestamp = morning(atS);
    const path = `/instances/${this.id}/process`;
    const answer = await caller.send('POST', path, { json: { ...seen, timestamp } });
    assert.is(answer.status, 200, answer.text);
    assert.is(answer.headers.get('x-throttled'), null, `throttled at ${atS}`);
    this.replay.observe(seen, MORNING_MS + Math.round(atS * 1_000));
    this.last = answer.body.data;
    this.cycle += 1;
    const { snapshot, contract, drift } = this.last;
    assert.is(snapshot.instance_id, this.id);
    assert.is(snapshot.cycle, this.cycle);
    assertServed(this.last, this.replay.expected(), ['instance_id', 'description']);
    assertContract(contract, drift.level);
    this.seen.add(snapshot.stress_state).add(drift.level);
    const place = { cycle: this.cycle, generation: this.generation, timestamp };
    this.history.push({ ...seen, ...place });
    if (drift.level === 'D0') return;
    this.events.push({
      ...place,
      drift_level: drift.level,
      deviation: drift.deviation,
      affected_modes: this.replay.affectedModes(),
      rolled_back: drift.level === 'D3',
    });
  }

  async #hurry(): Promise<void> {
    const atMs = Date.parse(this.history.at(-1).timestamp) + 500;
    const json = {
      mode_target: 'ASSERTION',
      signal_strength: 1,
      timestamp: new Date(atMs).toISOString(),
    };
    const answer = await caller.send('POST', `/instances/${this.id}/process`, { json });
    assert.is(answer.headers.get('x-throttled'), 'true');
    assert.equal(answer.body.data, this.last);
  }

  async #reset(mode: 'initial' | 'default'): Promise<void> {
    const path = `/instances/${this.id}/reset`;
    const answer = await caller.send('POST', path, { json: { mode } });
    this.replay.reset(mode, Date.now());
    const { snapshot } = this.replay.expected();
    const { energy_level, stress_state } = snapshot;
    const expected = { id: this.id, reset_to: mode, cycle: 0, energy_level, stress_state };
    assertServed(answer.body.data, expected);
    this.generation += 1;
    this.cycle = 0;
  }
}

const day = suite('an agent’s day');

day('is served as the model computes, and all reads agree throughout the day', async () => {
  const persona = (await caller.send('GET', `/personas/${AGENT}`)).body.data;
  const initial_config = { mode_strengths: persona.mode_profile };
  const id = await caller.createInstance({ name: persona.name, initial_config });
  const created = (await caller.send('GET', `/instances/${id}`)).body.data.created_at;
  const diary = new Diary(id, Date.parse(created));
  for (const [index, moment] of agentDay().entries()) {
    await diary.live(moment);
    if (index % READ_EVERY === 0 || moment.kind === 'reset') await diary.look();
  }
  await diary.look();
  const wanted = ['LOW', 'MED', 'HIGH', 'OVER', 'D0', 'D1', 'D2', 'D3'];
  assert.equal(
    wanted.filter((name) => !diary.seen.has(name)),
    [],
    'the day must reach every level',
  );

  const whole = (await caller.send('GET', `/instances/${id}/history?limit=1000&generation=all`))
    .body;
  assert.equal(whole.data, diary.all(diary.history));
  assert.is(whole.pagination.total, diary.history.length);
  const events = (await caller.send('GET', `/instances/${id}/drift?generation=all`)).body;
  assert.equal(events.data, diary.all(diary.events));
  assert.equal(events.pagination, { total: diary.events.length });
  const left = limitOf(await caller.send('GET', '/personas'), 'monthly');
  assert.is(left, 1_000 - diary.history.length, 'every accepted observation must cost a cycle');
});

day('starts close to the persona, with hardly any drift and without stress', async () => {
  const persona = (await caller.send('GET', `/personas/${AGENT}`)).body.data;
  const id = await caller.createInstance({
    initial_config: { mode_strengths: persona.mode_profile },
  });
  const observations = agentDay()
    .filter((moment) => moment.kind === 'observed')
    .slice(0, 100)
    .map(({ kind: _, atS, ...seen }) => ({ ...seen, timestamp: morning(atS) }));
  const answer = await caller.send('POST', `/instances/${id}/process/batch`, {
    json: { observations, include_intermediate: true },
  });
  const { states } = answer.body.data;
  const levels = states.map(({ drift }: Json) => drift.level);
  assert.ok(levels.filter((level: string) => level !== 'D0').length <= 3, levels.join(' '));
  assert.not.ok(levels.includes('D3'));
  const { snapshot, drift } = states.at(-1);
  assert.is(snapshot.stress_state, 'LOW');
  assert.is(drift.deviation.nearest_persona, AGENT);
  assert.equal(Object.keys(snapshot.mode_strengths), [...MODE_KEYS]);
});

day.run();
