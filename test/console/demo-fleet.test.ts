import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DEMO_AGENTS, type Story } from '#console/demo/content';
import { strengthsOf, weekOf } from '#console/demo/weeks';
import { MODELS } from '#identity/model';
import { newReport } from '#identity/report';
import type { Browser } from '#test/console/browser';
import { ACCOUNT_ID, openConsole, type TestConsole } from '#test/console/console-fixture';

/** Cycles of all weeks. */
const CYCLES = DEMO_AGENTS.reduce((sum, agent) => sum + weekOf(agent, 0).observations.length, 0);

const AGENTS = 50;

const stories = suite('a story of the demonstration');

/** Levels that the model reaches in an agent's week. */
function courseOf(agent: (typeof DEMO_AGENTS)[number]) {
  const model = MODELS.newest;
  const report = newReport();
  let state = model.create({ modeStrengths: [...strengthsOf(agent)], energyLevel: 0.8 });
  let beforeMs: number | undefined;
  const course = { drift: [] as number[], stress: [] as number[] };
  const { observations, resetAfter } = weekOf(agent, 10 ** 12);
  for (const [index, observation] of observations.entries()) {
    if (index === resetAfter) state = model.resetToInitial(state);
    const { timestampMs } = observation;
    model.advance(state, observation, (timestampMs - (beforeMs ?? timestampMs)) / 1_000, state);
    beforeMs = timestampMs;
    model.readReport(state, report);
    course.drift.push(report.deviation.level);
    course.stress.push(report.snapshot.stressLevel);
  }
  return course;
}

type Course = ReturnType<typeof courseOf>;

const EXPECTED: Readonly<Record<Story, (course: Course) => boolean>> = {
  calm: ({ drift, stress }) => Math.max(...drift, ...stress) === 0,
  busy: ({ stress }) => stress.at(-1) === 1,
  stressed: ({ stress }) => stress.at(-1) === 2,
  overloaded: ({ stress }) => stress.at(-1) === 3,
  recovered: ({ stress, drift }) =>
    Math.max(...stress) === 2 && stress.at(-1) === 0 && drift.at(-1) === 0,
  situational: ({ drift }) => drift.at(-1) === 1,
  drifting: ({ drift }) => Math.max(...drift) >= 2 && (drift.at(-1) ?? 0) >= 1,
  rolled_back: ({ drift }) => drift.includes(3) && drift.at(-1) === 0,
  reset: ({ drift }) => drift.includes(1) && drift.at(-1) === 0,
};

for (const [story, happens] of Object.entries(EXPECTED)) {
  stories(`"${story}" happens in the real model`, () => {
    const agents = DEMO_AGENTS.filter((agent) => agent.story === story);
    assert.ok(agents.length > 0);
    for (const agent of agents) {
      const course = courseOf(agent);
      assert.ok(happens(course), `${agent.name}: ${JSON.stringify(course)}`);
    }
  });
}

stories('spreads over the last seven days, in order', () => {
  const nowMs = Date.UTC(2026, 10, 30);
  for (const agent of DEMO_AGENTS) {
    const times = weekOf(agent, nowMs).observations.map(({ timestampMs }) => timestampMs);
    const days = (nowMs - (times[0] ?? 0)) / 86_400_000;
    assert.ok(days > 6 && days < 7 && (times.at(-1) ?? nowMs) < nowMs, `${agent.name}: ${days}`);
    for (const [index, time] of times.entries()) {
      assert.ok(index === 0 || time >= (times[index - 1] ?? 0) + 1_000, agent.name);
    }
  }
});

const demo = suite('the demonstration fleet');

/** Console with an index of instances, which the engine builds within some calls. */
async function untilShown(browser: Browser, instances: number): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const { status, data } = await browser.send('GET', '/demo-fleet');
    if (status === 200 && data['instances'] === instances) return;
    await new Promise(setImmediate);
  }
  throw new Error(`the demonstration never has ${instances} instances`);
}

const usageOf = async (browser: Browser) => {
  const { data } = await browser.expect(200, 'GET', '/usage');
  return [data['cycles_used'], data['requests_in_window']];
};

const totalOf = async (browser: Browser): Promise<number> =>
  (await browser.expect(200, 'GET', '/instances?limit=1')).body.pagination.total;

const linesOf = ({ audited }: TestConsole, action: string) =>
  audited
    .filter((line) => line.action === action)
    .map(({ outcome, after, actor }) => [outcome, after, actor?.kind]);

demo('has 50 marked agents with a past, for one request and the announced cycles', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  await owner.expect(201, 'POST', '/instances', { name: 'own' });
  await untilShown(owner, 0);
  const [, before] = await usageOf(owner);
  const { data } = await owner.expect(200, 'POST', '/demo-fleet', {});
  const tag = { key: 'demo', value: 'sample week' };
  assert.equal(data, { instances: AGENTS, agents: AGENTS, cycles: CYCLES, tag });
  assert.equal(await usageOf(owner), [CYCLES, Number(before) + 1]);
  await untilShown(owner, AGENTS);
  const { body } = await owner.expect(200, 'GET', '/instances?limit=100&search=Chen');
  const [chen] = body.data;
  assert.equal(chen.tags, { demo: 'sample week', team: 'operations' });
  const { data: drift } = await owner.expect(200, 'GET', `/instances/${chen.id}/drift`);
  assert.ok(JSON.stringify(drift).includes('"rolled_back":true'));
  const [begun, done] = linesOf(desk, 'demo.load');
  assert.equal(begun, ['begun', undefined, 'user']);
  const { instances, names } = (done?.[1] ?? {}) as { instances: number; names: string[] };
  assert.equal([instances, names.length, names.includes(chen.name)], [AGENTS, AGENTS, true]);
});

demo('is not doubled or charged again by a second click', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  await untilShown(owner, 0);
  await owner.expect(200, 'POST', '/demo-fleet', {});
  await untilShown(owner, AGENTS);
  const before = await usageOf(owner);
  await owner.expect(200, 'POST', '/demo-fleet', {});
  assert.equal(await usageOf(owner), before);
  assert.is(await totalOf(owner), AGENTS);
});

demo('is not doubled by a second load at the same time', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  await untilShown(owner, 0);
  const both = [1, 2].map(() => owner.send('POST', '/demo-fleet', {}));
  const statuses = (await Promise.all(both)).map(({ status }) => status);
  assert.equal(statuses.toSorted(), [200, 409]);
  assert.is(await totalOf(owner), AGENTS);
});

demo('is completed after an engine failed in the middle', async () => {
  const failing = { afterCalls: Number.POSITIVE_INFINITY };
  await using desk = await openConsole();
  const owner = await desk.owner();
  await untilShown(owner, 0);
  const { engine } = desk.ports;
  const ask = engine.ask.bind(engine);
  engine.ask = (call) => {
    // The engine calls itself through the same port, for example to list an instance.
    if (['create', 'process'].includes(call.command.kind)) failing.afterCalls -= 1;
    if (failing.afterCalls < 0) throw new Error('the engine is away');
    return ask(call);
  };
  failing.afterCalls = 60;
  assert.is((await owner.send('POST', '/demo-fleet', {})).status, 500);
  failing.afterCalls = Number.POSITIVE_INFINITY;
  const [charged] = await usageOf(owner);
  assert.ok(Number(charged) > 0 && Number(charged) < CYCLES, `${charged}`);
  await untilSettled(owner);
  await owner.expect(200, 'POST', '/demo-fleet', {});
  await untilShown(owner, AGENTS);
  assert.is(await totalOf(owner), AGENTS);
  assert.equal((await usageOf(owner))[0], CYCLES);
  assert.equal(
    linesOf(desk, 'demo.load').map(([outcome]) => outcome),
    [...['begun', 'internal'], ...['begun', 'done']],
  );
});

/** Waits until the index has all present instances. */
async function untilSettled(browser: Browser): Promise<void> {
  await untilShown(browser, await totalOf(browser));
}

demo('is removed without agents that lost the mark, forks and other instances', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const { data: own } = await owner.expect(201, 'POST', '/instances', { name: 'own' });
  await untilShown(owner, 0);
  await owner.expect(200, 'POST', '/demo-fleet', {});
  await untilShown(owner, AGENTS);
  const { body } = await owner.expect(200, 'GET', '/instances?search=Mira');
  const kept = body.data[0].id;
  await owner.expect(200, 'PATCH', `/instances/${kept}`, { tags: { team: 'support' } });
  const { body: found } = await owner.expect(200, 'GET', '/instances?search=Chen');
  const fork = { name: 'a fork in production', cycle: 3 };
  const forked = await owner.expect(201, 'POST', `/instances/${found.data[0].id}/fork`, fork);
  const { data } = await owner.expect(200, 'DELETE', '/demo-fleet', {});
  assert.is(data['instances'], 0);
  const { body: left } = await owner.expect(200, 'GET', '/instances');
  assert.equal(
    left.data.map(({ id }: { id: string }) => id).toSorted(),
    [kept, own['id'], forked.data['id']].toSorted(),
  );
  assert.is(linesOf(desk, 'demo.remove').at(-1)?.[0], 'done');
  await untilShown(owner, 0);
  await owner.expect(200, 'POST', '/demo-fleet', {});
  assert.is(await totalOf(owner), AGENTS + 3, 'a removed demonstration can be loaded again');
});

for (const [reason, limits] of [
  ['quota_exceeded', { requestsPerMinute: 1_000, cyclesPerMonth: CYCLES - 1 }],
  ['instance_limit', { requestsPerMinute: 1_000, cyclesPerMonth: 10_000, instances: 49 }],
] as const) {
  demo(`is refused with ${reason} before any change if the plan is too small`, async () => {
    await using desk = await openConsole();
    const owner = await desk.owner();
    await desk.admin.setPlan(ACCOUNT_ID, { plan: 'enterprise', limits });
    await untilShown(owner, 0);
    const { error, reason: shown } = await owner.send('POST', '/demo-fleet', {});
    assert.is(shown ?? error, reason);
    assert.is(await totalOf(owner), 0);
    assert.equal(linesOf(desk, 'demo.load'), []);
  });
}

demo('can be seen by viewers, who can neither load nor remove it', async () => {
  await using desk = await openConsole();
  const viewer = await desk.member(await desk.owner(), 'vera@example.com', 'viewer');
  await untilShown(viewer, 0);
  for (const method of ['POST', 'DELETE']) {
    assert.is((await viewer.send(method, '/demo-fleet', {})).reason, 'role_not_allowed');
  }
});

for (const each of [stories, demo]) each.run();
