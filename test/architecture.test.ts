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
  RESTRICTED,
  ROOT_FILES,
  ROOT_IMPORTERS,
  VENDORS,
} from '#test/architecture/map';
import { importsIn, importsOf, SERVICES, sourceOf } from '#test/architecture/source-tree';

const architecture = suite('in the services');

architecture('more than 100 files are checked', () => {
  assert.ok(SERVICES.length > 100, `only ${SERVICES.length} files were found`);
});

architecture('every import follows the map of layers', () => {
  for (const file of SERVICES.filter((name) => !ROOT_FILES.includes(name))) {
    const layer = layerOf(file);
    const allowed = allowedTo(file);
    assert.ok(allowed, `${file}: add the layer ${layer} to LAYERS in test/architecture/map.ts`);
    const source = sourceOf(file).replaceAll(PURE_TYPES[layer] ?? /(?!)/g, '');
    for (const target of importsIn(source)) {
      assert.not.match(target, /^\.\.?\//, `${file}: import ${target} by a name with #`);
      const other = layerNamed(target);
      if (other === undefined || other === layer) continue;
      if (other === 'config')
        assert.match(file, ROOT_IMPORTERS, `${file}: only startup may import config`);
      else assert.ok(allowed.includes(other), `${file}: ${layer} may not import ${other}`);
    }
  }
});

architecture('adapters are imported only by startup and by adapters of the same technology', () => {
  const adapter =
    /^#storage\/(memory|sqlite|cassandra)\/|^#bus\/(in-process|nats)-bus|^#billing\/(stripe|local)-provider/;
  for (const file of SERVICES.filter(
    (name) =>
      !/startup\/(ports|stores\/(sqlite|cassandra))\.ts$|\/(memory|sqlite|cassandra)\//.test(name),
  )) {
    for (const target of importsOf(file)) assert.not.match(target, adapter, `${file}: ${target}`);
  }
});

architecture(
  'vendor packages and restricted calls occur only in the files that map.ts lists',
  () => {
    for (const file of SERVICES) {
      for (const target of importsOf(file)) {
        for (const [vendor, home] of Object.entries(VENDORS)) {
          if (target.startsWith(vendor)) assert.match(file, home, `${file}: import of ${vendor}`);
        }
      }
      for (const [what, { word, home }] of Object.entries(RESTRICTED)) {
        if (word.test(sourceOf(file))) assert.match(file, home, `${file} must not contain ${what}`);
      }
    }
  },
);

architecture(
  'the pure layers receive time and randomness as values and do no input or output',
  () => {
    const impurity = /node:|Date\.now|new Date\(\)|Math\.random|process\.|\basync\b|\bawait\b/;
    for (const file of SERVICES.filter((name) => PURE.test(name))) {
      const source = sourceOf(file).replaceAll(PURE_BUILTINS, '');
      assert.not.match(source, impurity, `${file} is not pure`);
    }
  },
);

architecture('the pure decision functions of the cluster import no bus, clock or store', () => {
  const found = PURE_CORES.filter((file) => SERVICES.includes(file));
  assert.ok(found.includes('services/actor-system/cluster/failure-detector.ts'));
  for (const file of found) {
    const source = sourceOf(file);
    assert.not.match(source, /#bus\/|#platform\/clock|^import (?!type )[^;]*#storage\//m, file);
    assert.not.match(source, /Date\.now|Math\.random|\basync\b|\bawait\b/, file);
  }
});

architecture('the edge opens no outgoing connections', () => {
  const outgoing = /\bfetch\(|node:https|\bundici\b|http\.request|net\.connect/;
  for (const file of SERVICES.filter((name) => name.startsWith('services/programs/edge/'))) {
    assert.not.match(sourceOf(file), outgoing, `${file} opens a connection (threat model, API7)`);
  }
});

architecture.run();
