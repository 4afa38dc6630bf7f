import { randomBytes } from 'node:crypto';
import { globSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite as plainSuite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeRootFileSystem } from '#deploy/image/root-file-system';
import { type ImageRun, runImage, whyNoOtherRoot } from '#test/deploy/image-run';
import { openEmptyKeyspace } from '#test/storage/cassandra/migrated-keyspace';
import { cassandraOrSkip, natsOrSkip, suiteUnless } from '#test/support/servers/real-servers';

const cassandra = cassandraOrSkip();
const nats = natsOrSkip();

const root = mkdtempSync(join(tmpdir(), 'identity-engine-root-'));
process.once('exit', () => rmSync(root, { recursive: true }));
const start = await makeRootFileSystem(root);

/** Secret of all roles: 32 random characters, as production requires. */
const SECRET = { SERVICE_CLUSTER_SECRET: randomBytes(16).toString('hex') };

/** Free loopback ports instead of the image's ports. */
const HERE = {
  SERVICE_HOST: '127.0.0.1',
  SERVICE_METRICS_HOST: '127.0.0.1',
  SERVICE_PORT: '0',
  SERVICE_METRICS_PORT: '0',
  SERVICE_ADMIN_PORT: '0',
  SERVICE_CONSOLE_PORT: '0',
  SERVICE_ENGINE_LISTEN: '127.0.0.1:0',
  SERVICE_LIMITER_LISTEN: '127.0.0.1:0',
};

function run(args: readonly string[], variables: Record<string, string> = {}): ImageRun {
  return runImage(root, start, args, { ...HERE, ...variables });
}

/** Runs a module inside the image, with the Node.js of the image. */
function runModule(source: string): ImageRun {
  return runImage(root, start, ['--input-type=module', '--eval', source], {}, ['node']);
}

function addressIn({ output }: ImageRun, name: RegExp): string {
  const found = new RegExp(`${name.source} +([^,\\s]+)`).exec(output())?.[1];
  assert.ok(found, output());
  return found;
}

async function endedCleanly(...runs: readonly ImageRun[]): Promise<void> {
  for (const each of runs) {
    each.child.kill('SIGTERM');
    assert.is(await each.ended, 0, each.output());
  }
}

/** Asserts that the whole service works, including all pages and files. */
async function assertWhole(): Promise<void> {
  const service = run(['standalone'], {
    SERVICE_DOCS_ENABLED: 'true',
    SERVICE_LOCAL_ACCOUNT: 'true',
  });
  try {
    await service.says(/Ctrl-C/);
    const api = addressIn(service, /API/);
    const authorization = `Bearer ${/svc_sk_\w+/.exec(service.output())?.[0]}`;
    const made = await fetch(`${api}/instances`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: '{"name":"Ada"}',
    });
    assert.is(made.status, 201, await made.text());
    for (const page of ['docs', 'redoc', 'openapi.json']) {
      await assertPage(new URL(`/${page}`, api));
    }
    await assertPage(new URL('/keys', addressIn(service, /Console/)));
  } finally {
    service.child.kill('SIGTERM');
    assert.is(await service.ended, 0, service.output());
  }
}

/** Asserts that a page and its resources load. */
async function assertPage(url: URL): Promise<void> {
  const page = await fetch(url);
  assert.is(page.status, 200, url.href);
  const names = (await page.text()).matchAll(/(?:src|href)="([^"#]+)"/g);
  for (const [, name = ''] of page.headers.get('content-type')?.includes('html') ? names : []) {
    const part = await fetch(new URL(name, url));
    assert.is(part.status, 200, name);
    await part.arrayBuffer();
  }
}

const content = plainSuite('the root file system of the image');

content('contains Node and no other program', () => {
  const files = globSync('**', { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
  const system = files.filter((file) => !file.startsWith('/service/'));
  const others = system.filter((file) => !/^\/lib\d*\//.test(file));
  assert.equal(others.toSorted(), [
    '/etc/group',
    '/etc/nsswitch.conf',
    '/etc/passwd',
    '/usr/local/bin/node',
  ]);
  assert.equal(
    system.filter((file) => /^\/lib/.test(file) && !/\.so(\.\d+)*$/.test(file)),
    [],
  );
  for (const tool of ['npm', 'typescript', '@biomejs', 'esbuild', 'playwright-core', 'knip']) {
    assert.not.ok(
      files.some((file) => file.startsWith(`/service/node_modules/${tool}/`)),
      tool,
    );
  }
});

content("lets the image's user write to /tmp only", () => {
  for (const entry of globSync('**', { cwd: root })) {
    const { mode, uid } = statSync(join(root, entry));
    if (entry === 'tmp') continue;
    assert.is(mode & 0o002, 0, `everybody may write ${entry}`);
    assert.is(uid, process.getuid?.(), entry);
  }
});

const reason = whyNoOtherRoot();
const image = suiteUnless(reason === undefined ? undefined : `no other root here: ${reason}`);
const started = image('a service started from the root file system of the image');

started('finds every imported module', async () => {
  const source = `
    import { globSync } from 'node:fs';
    const isAlone = /^services\\/(?:main\\.ts$|programs\\/console\\/pages\\/)/;
    const files = globSync('services/**/*.ts').filter((file) => !isAlone.test(file));
    for (const file of files) await import(process.cwd() + '/' + file);
    console.log(files.length, 'modules of', process.getuid() + ':' + process.getgid());`;
  const loading = runModule(source);
  assert.is(await loading.ended, 0, loading.output());
  assert.match(loading.output(), /^\d{3} modules of 1000:1000\n$/);
});

started("resolves host names from the container's hosts file, without DNS", async () => {
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.9 cassandra.example\n');
  const source = `
    import { lookup } from 'node:dns/promises';
    console.log((await lookup('cassandra.example', { family: 4 })).address);`;
  const asking = runModule(source);
  assert.is(await asking.ended, 0, asking.output());
  assert.is(asking.output(), '127.0.0.9\n');
});

started('answers calls and serves every page', assertWhole);

for (const path of [
  'service/package.json',
  'service/docs/openapi.json',
  'service/services/programs/edge',
  'service/node_modules/fastify',
  'service/node_modules/redoc',
  ...globSync('lib/**/libstdc++.so.6', { cwd: root }),
]) {
  started(`fails to answer calls or to serve a page without ${path}`, async () => {
    const away = join(root, '..', `${root.split('/').at(-1)}-away`);
    renameSync(join(root, path), away);
    try {
      const failure = await assertWhole().then(
        () => undefined,
        (error: Error) => error,
      );
      assert.instance(failure, Error);
    } finally {
      renameSync(away, join(root, path));
    }
  });
}

started('accepts its own ctl, with the token in /tmp', async () => {
  const limiter = run(['limiter']);
  await limiter.says(/is ready/);
  const admin = { SERVICE_ADMIN_URL: addressIn(limiter, /admin/) };
  const ctl = run(['ctl', 'accounts', 'create', 'acme', '--plan', 'pro'], admin);
  assert.is(await ctl.ended, 0, ctl.output());
  assert.match(ctl.output(), / acme +pro /);
  await endedCleanly(limiter);
});

started('runs as edge, limiter and engine', async () => {
  const [limiter, engine] = [run(['limiter']), run(['engine'])];
  await Promise.all([limiter, engine].map((each) => each.says(/is ready/)));
  const edge = run(['edge'], {
    ...SECRET,
    SERVICE_LIMITER_ADDRESS: addressIn(limiter, /grpc/),
    SERVICE_ENGINE_ADDRESS: addressIn(engine, /grpc/),
  });
  await edge.says(/is ready/);
  const answer = await fetch(`${addressIn(edge, /api/)}/personas`);
  assert.is(answer.status, 401);
  await answer.arrayBuffer();
  await endedCleanly(edge, limiter, engine);
});

const stored = reason === undefined ? cassandra.suite : image;
const onServers = stored('a service from the image on real servers');

onServers('migrates, and joins as engine and limiter', async () => {
  await using keyspace = await openEmptyKeyspace(cassandra.address);
  const servers = {
    ...SECRET,
    SERVICE_STORAGE: 'cassandra',
    SERVICE_CASSANDRA_CONTACT_POINTS: cassandra.address,
    SERVICE_CASSANDRA_KEYSPACE: keyspace.name,
    SERVICE_NATS_URL: nats.address,
    SERVICE_NATS_PREFIX: keyspace.name,
    SERVICE_SHARDS: '8',
  };
  const migrate = run(['migrate'], servers);
  assert.is(await migrate.ended, 0, migrate.output());
  const nodes = [run(['engine'], servers), run(['limiter'], servers)];
  await Promise.all(nodes.map((each) => each.says(/is ready/)));
  await endedCleanly(...nodes);
});

for (const each of [content, started, onServers]) each.run();
