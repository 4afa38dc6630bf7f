import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { licenseOf } from '#deploy/supply/license-faults';
import { shippedPackages } from '#deploy/supply/locked-packages';

type Component = {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly unknown[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
};

/** Fields of a bill of materials in CycloneDX format that this project uses. */
export type Sbom = {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly serialNumber: string;
  readonly metadata: { readonly timestamp?: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};

/** Maximum time for npm to read the lockfile, in ms. */
const NPM_MS_MAX = 60_000;

/** Maximum output of npm, in bytes. A bill of materials has a few hundred KB. */
const BYTES_MAX = 64 * 1_024 * 1_024;

/**
 * Arguments of npm. List all packages: if development tools are omitted, npm also omits packages
 * that the service shares with these tools.
 */
const ARGUMENTS = [
  ...['sbom', '--package-lock-only', '--loglevel=error'],
  ...['--sbom-format=cyclonedx', '--sbom-type=application'],
];

/**
 * Bill of materials of the image, which npm lists from the lockfile. Reproducible: the serial
 * number derives from the lockfile, and the timestamp is removed. Adds the licences of
 * `READ_LICENSES`.
 */
export function sbom(): Sbom {
  const options = { encoding: 'utf8', timeout: NPM_MS_MAX, maxBuffer: BYTES_MAX } as const;
  const listed: Sbom = JSON.parse(execFileSync('npm', ARGUMENTS, options));
  const { timestamp: _, ...metadata } = listed.metadata;
  const { name } = JSON.parse(readFileSync('package.json', 'utf8'));
  const shipped = new Set(shippedPackages().map((each) => `${each.name}@${each.version}`));
  const components = listed.components.filter((each) => {
    return shipped.has(`${each.name}@${each.version}`);
  });
  const refs = new Set([metadata.component, ...components].map((each) => each['bom-ref']));
  return {
    ...listed,
    serialNumber: serialNumberOf(readFileSync('package-lock.json')),
    // npm names the component after its folder.
    metadata: { ...metadata, component: { ...metadata.component, name } },
    components: components.map(withLicense),
    dependencies: listed.dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((on) => refs.has(on)) })),
  };
}

function withLicense(component: Component): Component {
  if (component.licenses !== undefined) return component;
  const id = licenseOf({ ...component, license: undefined });
  return id === undefined ? component : { ...component, licenses: [{ license: { id } }] };
}

/** UUID version 8 (custom data) from a digest of `text`. Source: RFC 9562, 5.8. */
function serialNumberOf(text: Buffer): string {
  const digest = createHash('sha256').update(text).digest('hex');
  const variant = ((Number.parseInt(digest.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  const parts = [
    ...[digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`],
    ...[`${variant}${digest.slice(17, 20)}`, digest.slice(20, 32)],
  ];
  return `urn:uuid:${parts.join('-')}`;
}
