import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { licenseFaults } from '#deploy/supply/license-faults';
import { type LockedPackage, MCP_LOCKFILE, shippedPackages } from '#deploy/supply/locked-packages';
import { sbom } from '#deploy/supply/sbom';

const shipped = shippedPackages();

/** Shipped packages, and another package with this licence. */
function withLicense(license: string | undefined): readonly LockedPackage[] {
  return [...shipped, { name: 'newcomer', version: '1.0.0', license }];
}

const licenses = suite('the licences of shipped packages');

licenses('are all on the allow list', () => {
  assert.ok(shipped.length > 100, `${shipped.length}`);
  assert.equal(licenseFaults(shipped), []);
});

licenses('of the MCP server are on the allow list too', () => {
  const packages = shippedPackages(MCP_LOCKFILE);
  assert.ok(packages.some(({ name }) => name === '@modelcontextprotocol/server'));
  assert.equal(licenseFaults([...shipped, ...packages]), []);
});

for (const license of ['MIT', '(MPL-2.0 OR MIT)', '(MIT AND ISC)', 'GPL-3.0 OR Apache-2.0']) {
  licenses(`may be ${license}`, () => {
    assert.equal(licenseFaults(withLicense(license)), []);
  });
}

for (const license of [
  undefined,
  'GPL-3.0-only',
  'UNLICENSED',
  'SEE LICENSE IN LICENSE.md',
  '(MIT AND AGPL-3.0-only)',
  '(MIT OR ISC) AND GPL-3.0-only',
]) {
  licenses(`may not be ${license ?? 'missing'}`, () => {
    const faults = licenseFaults(withLicense(license));
    assert.is(faults.length, 1);
    assert.match(faults[0] ?? '', /^newcomer@1\.0\.0: /);
  });
}

licenses('entered by hand must be removed with their package', () => {
  const faults = licenseFaults(shipped.filter(({ name }) => name !== 'decko'));
  assert.equal(faults.length, 1);
  assert.match(faults[0] ?? '', 'decko@1.2.0: no longer shipped');
});

const bill = suite('the bill of materials');

bill('lists exactly the shipped packages, each with checksum and licence', () => {
  const { bomFormat, metadata, components } = sbom();
  assert.is(bomFormat, 'CycloneDX');
  assert.is(metadata.component.name, 'identity-engine');
  const name = (each: { name: string; version: string }) => `${each.name}@${each.version}`;
  const listed = components.map(name);
  assert.equal(listed.toSorted(), [...new Set(shipped.map(name))].toSorted());
  for (const component of components) {
    assert.match(component.hashes?.[0]?.content ?? '', /^[0-9a-f]{128}$/, name(component));
    assert.ok((component.licenses?.length ?? 0) > 0, name(component));
  }
});

bill('records the dependencies between packages', () => {
  const { metadata, components, dependencies } = sbom();
  const refs = components.map((each) => each['bom-ref']);
  assert.equal(
    dependencies.map(({ ref }) => ref).toSorted(),
    [metadata.component['bom-ref'], ...refs].toSorted(),
  );
  const own = dependencies.find(({ ref }) => ref === metadata.component['bom-ref']);
  const direct = Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).dependencies);
  for (const name of direct) {
    assert.ok(
      own?.dependsOn.some((ref) => ref.startsWith(`${name}@`)),
      name,
    );
  }
});

bill('is reproducible', () => {
  assert.is(JSON.stringify(sbom()), JSON.stringify(sbom()));
});

for (const each of [licenses, bill]) each.run();
