import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Account } from '#accounts/account';
import type { ClusterPorts } from '#ctl/command';
import { Fault } from '#errors/fault';
import type { CourierOutcome } from '#grpc/courier-messages';
import type { WebhookAction, WebhookCommand } from '#grpc/engine-messages';
import { TRANSITIONS } from '#identity/transitions';
import { clusterInMemory } from '#test/ctl/cluster-fixture';
import { ctl } from '#test/ctl/ctl-run';
import { engineOn } from '#test/ctl/export/export-fixture';
import { ACCOUNT_ID, callOf, INSTANCE_ID, START_MS } from '#test/engine/instance/instance-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';

const ACCOUNT: Account = {
  ...{ id: ACCOUNT_ID, name: 'a', plan: 'free', status: 'active', createdAtMs: 1 },
  limits: { requestsPerMinute: 1, cyclesPerMonth: 1, instances: 9 },
};

const ID = 'whk_00000000000000aa';
const UNKNOWN = 'whk_00000000000000ff';

const CREATED = TRANSITIONS.indexOf('created');

const CREATE: WebhookCommand = {
  ...{ kind: 'webhook', action: 'create', endpointId: ID, positions: [] },
  settings: {
    ...{ url: 'https://hooks.example/events', description: '', sealedSecret: 's' },
    ...{ types: 1 << CREATED, rowsMax: 1 },
  },
};

/** An account with an endpoint, at an engine whose courier gets the status in `answer`. */
async function withEndpoint() {
  const opened = new AsyncDisposableStack();
  const cluster = opened.use(await clusterInMemory([]));
  await cluster.stores.accounts.create(ACCOUNT);
  const clock = new ManualClock(START_MS);
  const answer = { status: 204 };
  const sent: string[] = [];
  const asked: WebhookAction[] = [];
  const courier = {
    ask: async ({ id }: { readonly id: string }): Promise<CourierOutcome> => {
      sent.push(id);
      return { kind: 'answered', status: answer.status, retryAfter: undefined };
    },
  };
  const engine = opened.use(engineOn(cluster, clock, undefined, courier));
  const openActing = async () => ({
    engine: {
      ask: (call: Parameters<typeof engine.ask>[0]) => {
        if (call.command.kind === 'webhook') asked.push(call.command.action);
        return engine.ask(call);
      },
    },
    announce: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  });
  const run = (words: string, changed: Partial<ClusterPorts> = {}) =>
    ctl(['webhooks', ...words.split(' ')], {
      cluster: { ...cluster.ports, clock, openActing, ...changed },
      clock,
    });
  let version = 0;
  /** Adds changes of one instance to the log of the account, and delivers them. */
  const change = async (count = 1) => {
    for (const end = version + count; version < end; ) {
      version += 1;
      const rows = [[INSTANCE_ID, version, clock.wallMs(), [[CREATED, 0, 0, 0, 0]]]] as const;
      await engine.ask(callOf({ kind: 'recordTransitions', rows }, { instanceId: '' }));
    }
    await pass(clock, 2_000);
  };
  await engine.ask(callOf(CREATE, { instanceId: '' }));
  return {
    ...{ cluster, answer, sent, asked, run, change },
    /** Audit lines, oldest first. */
    lines: async () => {
      const { audit } = cluster.stores;
      const [month] = await audit.months(ACCOUNT_ID);
      const lines = month === undefined ? [] : await audit.read(ACCOUNT_ID, month, 9, 9);
      return lines.map(({ text }) => JSON.parse(text)).reverse();
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const endpoints = suite('ctl webhooks');

endpoints('lists each endpoint with its state, and with changes behind and failed', async () => {
  await using scene = await withEndpoint();
  const { run, answer, change } = scene;
  const heading = '^ENDPOINT +URL +STATE +FAILING SINCE +BEHIND +FAILED\n';
  const row = `${ID} +https://hooks\\.example/events`;
  const shows = async (state: string) => {
    const { code, out, err } = await run(`list ${ACCOUNT_ID}`);
    assert.is(code, 0, err);
    assert.match(out, new RegExp(`${heading}${row} +${state}$`));
  };
  await change();
  await shows('active +- +0 +0');
  answer.status = 500;
  await change(52);
  await shows('failing +2026-01-15T12:00:02\\.\\d{3}Z +50 +2');
  await run(`pause ${ACCOUNT_ID} ${ID}`);
  await shows('paused \\(requested\\) +2026-01-15T12:00:02\\.\\d{3}Z +50 +2');
  await run(`resume ${ACCOUNT_ID} ${ID}`);
  answer.status = 410;
  await change();
  await shows('paused \\(removed\\) +2026-\\S+Z +\\d+ +\\d+');
});

// A pause that only the table shows would go on sending; a resume that starts no loop sends nothing.
endpoints(
  'pauses and resumes the deliveries, with audit lines that name the endpoint',
  async () => {
    await using scene = await withEndpoint();
    const { run, change, sent, lines } = scene;
    const paused = await run(`pause ${ACCOUNT_ID} ${ID}`);
    assert.is(paused.code, 0, paused.err);
    assert.match(paused.out, /\nwhk_00000000000000aa .* paused \(requested\) /);
    await change();
    assert.equal(sent, []);
    const resumed = await run(`resume ${ACCOUNT_ID} ${ID}`);
    assert.is(resumed.code, 0, resumed.err);
    assert.match(resumed.out, /\nwhk_00000000000000aa .* active /);
    await change(0);
    assert.equal(sent, [`${ID}-0`]);
    const written = (await lines()).map(({ action, target, actor, outcome, before, after }) => {
      return [action, target, actor.kind, outcome, before?.is_paused, after.is_paused];
    });
    const shared = ['webhook.update', ID, 'operator'];
    assert.equal(written, [
      [...shared, 'begun', false, true],
      [...shared, 'done', undefined, true],
      [...shared, 'begun', true, false],
      [...shared, 'done', undefined, false],
    ]);
  },
);

endpoints('shows the last attempts and the failed changes, newest first', async () => {
  await using scene = await withEndpoint();
  const { run, answer, change } = scene;
  const none = await run(`deliveries ${ACCOUNT_ID} ${ID}`);
  assert.is(none.out.split('\n\n').length, 2);
  assert.match(none.out, /no attempt since.*\n\nNo change has failed\.$/);
  await change();
  answer.status = 500;
  await change(52);
  const { out } = await run(`deliveries ${ACCOUNT_ID} ${ID}`);
  assert.match(
    out,
    /^ATTEMPTED +MESSAGE +EVENTS +MS +OUTCOME\n\S+Z +whk_\w+-3 +1 +\d+ +status 500\n/,
  );
  assert.match(out, /\n\S+Z +whk_\w+-0 +1 +\d+ +delivered\n/);
  assert.match(
    out,
    /\n\nPOSITION +INSTANCE +FAILED +CAUSE\n2 +inst_0+aa +\S+Z +too_many_waiting\n1 +/,
  );
  const json = await run(`deliveries ${ACCOUNT_ID} ${ID} --json`);
  const { attempts, failed } = JSON.parse(json.out);
  assert.equal([attempts.at(-1).failure, failed[0].position], [null, 2]);
});

endpoints('sends changes again, with an audit line that has their positions', async () => {
  await using scene = await withEndpoint();
  const { run, change, sent, lines } = scene;
  await change(3);
  sent.length = 0;
  const { code, out, err } = await run(`redeliver ${ACCOUNT_ID} ${ID} 0 2`);
  assert.is(code, 0, err);
  const next = `ctl webhooks deliveries ${ACCOUNT_ID} ${ID}`;
  assert.is(out, `Sending 2 changes again: "${next}" shows the outcome.`);
  await change(0);
  assert.equal(sent.map((id) => id.split('-')[1]).toSorted(), ['0', '2']);
  const [begun, done] = await lines();
  assert.equal([begun.action, begun.target, begun.outcome], ['webhook.redeliver', ID, 'begun']);
  assert.equal([begun.after, done.outcome], [{ positions: [0, 2] }, 'done']);
  await run(`pause ${ACCOUNT_ID} ${ID}`);
  const refused = await run(`redeliver ${ACCOUNT_ID} ${ID} 0`);
  assert.equal([refused.code, refused.err], [1, 'ctl: the endpoint is paused; resume it first']);
  assert.is((await lines()).at(-1).outcome, 'conflict');
});

const refusals = suite('a refused command of ctl webhooks');

refusals(
  'has exit code 4 for an unknown account or endpoint, and writes no audit line',
  async () => {
    await using scene = await withEndpoint();
    const { run, asked, lines } = scene;
    for (const words of ['list', `pause ${ID}`, `deliveries ${ID}`, `redeliver ${ID} 0`]) {
      const [word, ...rest] = words.split(' ');
      const { code, err } = await run([word, 'Nobody000001', ...rest].join(' '));
      assert.equal([code, err], [4, 'ctl: there is no account "Nobody000001"']);
    }
    assert.equal(asked, []);
    for (const words of ['pause A E', 'resume A E', 'deliveries A E', 'redeliver A E 0']) {
      const { code, err } = await run(words.replace('A', ACCOUNT_ID).replace('E', UNKNOWN));
      assert.equal([code, err], [4, 'ctl: no such webhook endpoint in this account']);
    }
    assert.equal(await lines(), []);
  },
);

refusals('has exit code 2 for an id or a position that cannot exist', async () => {
  await using scene = await withEndpoint();
  const tooMany = Array.from({ length: 201 }, (_, position) => position).join(' ');
  for (const [words, reason] of [
    [`pause ${ACCOUNT_ID} inst_00000000000000aa`, /must be an id such as whk_0123456789abcdef/],
    [`redeliver ${ACCOUNT_ID} ${ID}`, /missing required argument 'position'/],
    [`redeliver ${ACCOUNT_ID} ${ID} 1 0x2`, /'0x2' is invalid .* must be a position in the log/],
    [`redeliver ${ACCOUNT_ID} ${ID} ${tooMany}`, /too many positions: the maximum is 200/],
  ] as const) {
    const { code, err } = await scene.run(words);
    assert.is(code, 2, words);
    assert.match(err, reason);
  }
  assert.equal(scene.asked, []);
});

refusals('changes nothing if its audit line cannot be written', async () => {
  await using scene = await withEndpoint();
  const { audit } = scene.cluster.stores;
  const append = async () => {
    throw new Fault('service_unavailable', 'down');
  };
  for (const words of [`pause ${ACCOUNT_ID} ${ID}`, `redeliver ${ACCOUNT_ID} ${ID} 0`]) {
    const { code, err } = await scene.run(words, { audit: { ...audit, append } });
    assert.is(code, 1);
    assert.match(err, /audit trail cannot be written/);
  }
  assert.equal(scene.asked, ['read', 'read']);
});

// The engine that `ctl` starts on a file has no courier, and would say that the endpoint is paused.
refusals('names the API if the changes of a data file are to be sent again', async () => {
  await using scene = await withEndpoint();
  const { code, err } = await scene.run(`redeliver ${ACCOUNT_ID} ${ID} 0`, { file: 'service.db' });
  assert.is(code, 1);
  assert.match(err, /start the service and call POST \/v1\/webhooks\/\{id\}\/redeliver/);
  assert.equal(scene.asked, []);
});

for (const group of [endpoints, refusals]) group.run();
