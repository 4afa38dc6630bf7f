import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  allowedTo,
  layerNamed,
  layerOf,
  PURE,
  PURE_BUILTINS,
  PURE_CORES,
  PURE_TYPES,
  ROOT_FILES,
  ROOT_IMPORTERS,
  SPOKEN_ONCE,
  VENDORS,
} from '#test/architecture/map';
import { importsIn, importsOf, SERVICES, sourceOf } from '#test/architecture/source-tree';

const architecture = suite('architecture');

architecture('there is something to look at', () => {
  assert.ok(SERVICES.length > 100, 'a gate that looks at nothing passes everything');
});

architecture('every import follows an arrow of the map', () => {
  for (const file of SERVICES.filter((name) => !ROOT_FILES.includes(name))) {
    const layer = layerOf(file);
    const allowed = allowedTo(file);
    assert.ok(allowed, `${file}: ${layer} is not on the map`);
    const source = sourceOf(file).replaceAll(PURE_TYPES[layer] ?? /(?!)/g, '');
    for (const target of importsIn(source)) {
      assert.not.match(target, /^\.\.?\//, `${file}: import ${target} by its # name`);
      const other = layerNamed(target);
      if (other === undefined || other === layer) continue;
      if (other === 'config') assert.match(file, ROOT_IMPORTERS, `${file}: only processes read it`);
      else assert.ok(allowed.includes(other), `${file}: ${layer} may not import ${other}`);
    }
  }
});

architecture(
  'every adapter is opened in ports.ts or the stores of its kind, and nowhere else',
  () => {
    const adapter =
      /^#storage\/(memory|sqlite|cassandra)\/|^#bus\/(in-process|nats)-bus|^#billing\/(stripe|local)-provider/;
    for (const file of SERVICES.filter(
      (name) =>
        !/startup\/(ports|stores\/(sqlite|cassandra))\.ts$|\/(memory|sqlite|cassandra)\//.test(
          name,
        ),
    )) {
      for (const target of importsOf(file)) assert.not.match(target, adapter, `${file}: ${target}`);
    }
  },
);

architecture('every vendor and every magic word stays in its place', () => {
  for (const file of SERVICES) {
    for (const target of importsOf(file)) {
      for (const [vendor, home] of Object.entries(VENDORS)) {
        if (target.startsWith(vendor)) assert.match(file, home, `${file}: ${vendor}`);
      }
    }
    for (const [what, { word, home }] of Object.entries(SPOKEN_ONCE)) {
      if (word.test(sourceOf(file))) assert.match(file, home, `${file}: ${what}`);
    }
  }
});

architecture(
  'the pure layers take time and randomness as values, and do no input or output',
  () => {
    const impurity = /node:|Date\.now|new Date\(\)|Math\.random|process\.|\basync\b|\bawait\b/;
    for (const file of SERVICES.filter((name) => PURE.test(name))) {
      const source = sourceOf(file).replaceAll(PURE_BUILTINS, '');
      assert.not.match(source, impurity, `${file} is not pure`);
    }
  },
);

architecture('the pure cores of the cluster import no bus, clock or store', () => {
  const found = PURE_CORES.filter((file) => SERVICES.includes(file));
  assert.ok(found.includes('services/actor-system/cluster/failure-detector.ts'));
  for (const file of found) {
    const source = sourceOf(file);
    assert.not.match(source, /#bus\/|#platform\/clock|^import (?!type )[^;]*#storage\//m, file);
    assert.not.match(source, /Date\.now|Math\.random|\basync\b|\bawait\b/, file);
  }
});

architecture('nothing on the edge can call out', () => {
  const outgoing = /\bfetch\(|node:https|\bundici\b|http\.request|net\.connect/;
  for (const file of SERVICES.filter((name) => name.startsWith('services/programs/edge/'))) {
    assert.not.match(sourceOf(file), outgoing, `${file} reaches out (attacks, API7)`);
  }
});

architecture.run();
