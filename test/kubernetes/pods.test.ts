import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as assert from 'uvu/assert';
import { readConfig } from '#config';
import { stagesOf, startOf } from '#deploy/image/containerfile';
import { roleName, WIRE_ROLES } from '#grpc/tls';
import { CLOSING_MS_MAX } from '#startup/process/lifetime';
import { productionFaults, type Role } from '#startup/production';
import { createMetrics } from '#telemetry/metrics';
import { serveOps } from '#telemetry/ops-server';
import { OVERLAY_MANIFESTS, suite } from '#test/kubernetes/kustomize';
import {
  componentOf,
  type Manifest,
  manifestsIn,
  ofKind,
  ownWorkloads,
  type PodTemplate,
  SERVING,
  serviceContainer,
  variablesOf,
} from '#test/kubernetes/manifest';

/**
 * Minimum and maximum share of the memory limit for V8's old space; the rest is for buffers and
 * code.
 */
const HEAP_SHARE_MIN = 0.6;
const HEAP_SHARE_MAX = 0.75;

/** Maximum share of the heap for idle actors, and number of actor kinds per process. */
const ACTORS_SHARE_MAX = 0.7;
const KINDS: Readonly<Record<string, number>> = { engine: 2, limiter: 1 };

const folder = mkdtempSync(join(tmpdir(), 'identity-engine-pods-'));
process.once('exit', () => rmSync(folder, { recursive: true }));
const image = stagesOf(readFileSync('deploy/Containerfile', 'utf8')).at(-1);
assert.ok(image);
const { variables: IMAGE_VARIABLES } = startOf(image);

/** Secrets that `make-secrets.sh` creates, with their keys. */
const SECRETS = new Map(
  [
    ...readFileSync('deploy/kubernetes/make-secrets.sh', 'utf8').matchAll(
      /^secret (\S+) (".*")$/gm,
    ),
  ].map(([, name = '', pairs = '']) => [
    name,
    [...pairs.matchAll(/"(\w+)=/g)].map(([, key]) => key),
  ]),
);

const mebibytes = (text = ''): number => {
  const [, number = '', unit] = /^(\d+)([GM])i$/.exec(text) ?? [];
  return Number(number) * (unit === 'G' ? 1_024 : 1);
};

/** Source of a mounted file: Secret or ConfigMap, and key. */
function fileIn({ spec }: PodTemplate, path: string): { source: string; key: string } | undefined {
  const mounts = spec.containers.flatMap(({ volumeMounts = [] }) => volumeMounts);
  const mount = mounts.find(({ mountPath }) => mountPath === dirname(path));
  const volume = spec.volumes?.find(({ name }) => name === mount?.name);
  const file = path.slice(dirname(path).length + 1);
  if (volume?.configMap !== undefined) return { source: volume.configMap.name, key: file };
  if (volume?.secret === undefined) return undefined;
  const { secretName: source, items } = volume.secret;
  const key = items === undefined ? file : items.find((item) => item.path === file)?.key;
  return key === undefined ? undefined : { source, key };
}

/** Environment of the pod's process, with local files in place of mounted files. */
function environmentOf(workload: Manifest, manifests: readonly Manifest[]) {
  const { template } = workload.spec;
  const environment = { ...IMAGE_VARIABLES, ...variablesOf(serviceContainer(template), manifests) };
  const entries = Object.entries(environment).map(([name, value]) => {
    if (!name.endsWith('_FILE')) return [name, value];
    const found = fileIn(template, value);
    assert.ok(found, `${name}: no Secret is mounted at ${value}`);
    assert.ok(SECRETS.get(found.source)?.includes(found.key), `${found.source}: ${found.key}`);
    const file = join(folder, `${found.source}-${found.key}`);
    writeFileSync(file, '3f9a0c1b7d5e2468ace13579bdf02468\n');
    return [name, file];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

for (const [overlay, manifests] of OVERLAY_MANIFESTS) {
  for (const workload of ownWorkloads(manifests)) {
    const component = componentOf(workload);
    const { template } = workload.spec;
    const container = serviceContainer(template);
    const serves = SERVING.includes(component);
    const pod = suite(`a pod of ${component} in overlay ${overlay}`);

    pod('runs an existing role', () => {
      if (component === 'ctl') return assert.equal(container.command?.slice(0, 1), ['node']);
      assert.is(container.command, undefined);
      assert.equal(container.args, [component]);
      const parts = readFileSync('services/programs/startup/command.ts', 'utf8');
      assert.match(parts, new RegExp(`^ {2}${component}: async|part === '${component}'`, 'm'));
    });

    pod(
      'has only variables that its process accepts, and no setting that production rejects',
      () => {
        const config = readConfig(environmentOf(workload, manifests));
        const environment = overlay === 'local' ? 'development' : 'production';
        assert.is(config.SERVICE_ENVIRONMENT, environment);
        const evidence = { showsCertificate: () => false };
        if (environment === 'production') {
          assert.equal(productionFaults(config, component as Role, evidence), []);
        }
      },
    );

    pod(
      'has a volume for each mount, a mount for each volume, and certificates at the configured paths',
      () => {
        const mounts = (container.volumeMounts ?? []).map(({ name }) => name);
        const volumes = (template.spec.volumes ?? []).map(({ name }) => name);
        assert.equal(mounts.toSorted(), volumes.toSorted());
        for (const [name, value] of Object.entries(environmentOf(workload, manifests))) {
          if (
            !name.endsWith('TLS_FOLDER') ||
            (component === 'migrate' && name === 'SERVICE_TLS_FOLDER')
          ) {
            continue;
          }
          const file = fileIn(template, `${value}/ca.crt`);
          const isWire = name === 'SERVICE_TLS_FOLDER';
          const wanted = isWire ? `${component}-certificate` : 'authority-of-stores';
          assert.equal(file, { source: wanted, key: 'ca.crt' });
        }
      },
    );

    pod('protects its secrets from other users, and mounts only required secrets', () => {
      for (const { secret, name } of template.spec.volumes ?? []) {
        if (secret !== undefined) assert.is(secret.defaultMode, 0o440, name);
      }
      const names = (template.spec.volumes ?? []).flatMap(({ secret }) => secret?.secretName ?? []);
      const storesNothing = component === 'edge' || component === 'courier';
      assert.is(names.includes('cassandra-password'), !storesNothing);
      assert.is(names.includes('cluster-secret'), component !== 'migrate');
      const nats = template.spec.volumes?.find(
        ({ secret }) => secret?.secretName === 'nats-passwords',
      );
      assert.equal(
        nats?.secret?.items?.map(({ key }) => key),
        component === 'migrate' || component === 'courier' ? undefined : [component],
      );
      assert.is(template.spec.automountServiceAccountToken, false);
    });

    pod('declares the ports on which its process listens', () => {
      if (!serves) return assert.is(container.ports, undefined);
      const config = readConfig(environmentOf(workload, manifests));
      const own = {
        edge: { name: 'http', port: config.SERVICE_PORT },
        engine: { name: 'grpc', port: Number(config.SERVICE_ENGINE_LISTEN.split(':')[1]) },
        limiter: { name: 'grpc', port: Number(config.SERVICE_LIMITER_LISTEN.split(':')[1]) },
        courier: { name: 'grpc', port: Number(config.SERVICE_COURIER_LISTEN.split(':')[1]) },
        console: { name: 'http', port: config.SERVICE_CONSOLE_PORT },
      }[component as 'edge'];
      const ports = container.ports?.map(({ name, containerPort }) => ({
        name,
        port: containerPort,
      }));
      const metrics = { name: 'metrics', port: config.SERVICE_METRICS_PORT };
      assert.equal(
        ports?.toSorted((a, b) => a.port - b.port),
        [own, metrics],
      );
    });

    if (serves) {
      pod('has probes for existing paths of its process', async () => {
        const unready = { names: [], isReady: () => false, notes: () => [] };
        const options = { host: '127.0.0.1', port: 0, metrics: createMetrics(), ...unready };
        await using server = await serveOps(options);
        const asked = async (probe = container.livenessProbe) => {
          assert.is(probe?.httpGet?.port, 'metrics');
          return (await fetch(`${server.address}${probe?.httpGet?.path}`)).status;
        };
        assert.is(await asked(container.startupProbe), 200, 'a waiting start is alive');
        assert.is(await asked(container.livenessProbe), 200);
        assert.is(await asked(container.readinessProbe), 503, 'an unready process answers 503');
      });

      pod('has enough time for a clean stop', () => {
        const { terminationGracePeriodSeconds: grace = 30 } = template.spec;
        const waitS = container.lifecycle?.preStop.sleep.seconds ?? 0;
        assert.ok(waitS >= 5, `${waitS} s`);
        assert.ok(grace >= waitS + CLOSING_MS_MAX / 1_000 + 5, `${grace} s`);
      });
    }

    pod('has a heap limit that fits its memory limit', () => {
      const { NODE_OPTIONS = '' } = environmentOf(workload, manifests);
      const heap = Number(/^--max-old-space-size=(\d+)$/.exec(NODE_OPTIONS)?.[1]);
      const memory = mebibytes(container.resources.limits['memory']);
      assert.ok(heap >= memory * HEAP_SHARE_MIN, `${heap} MiB of ${memory}`);
      assert.ok(heap <= memory * HEAP_SHARE_MAX, `${heap} MiB of ${memory}`);
      const { SERVICE_ACTOR_MEMORY_MIB: actors } = readConfig(environmentOf(workload, manifests));
      const idle = actors * (KINDS[component] ?? 0);
      assert.ok(idle <= heap * ACTORS_SHARE_MAX, `actors ${idle}, heap ${heap}`);
      assert.is(container.resources.requests['memory'], container.resources.limits['memory']);
    });

    pod.run();
  }
}

const certificates = suite('the certificates of processes');

certificates('name exactly one role each, and have a separate authority', () => {
  const file = 'deploy/kubernetes/components/tls/certificates.yaml';
  assert.ok(existsSync(file));
  const made = ofKind(manifestsIn(readFileSync(file, 'utf8')), 'Certificate').map(({ spec }) => {
    return spec as unknown as {
      secretName: string;
      dnsNames?: string[];
      issuerRef: { name: string };
    };
  });
  for (const role of WIRE_ROLES) {
    const own = made.filter(({ secretName }) => secretName === `${role}-certificate`);
    assert.equal(
      own.map(({ dnsNames }) => dnsNames),
      [[roleName(role)]],
    );
    assert.is(own[0]?.issuerRef.name, 'wire');
  }
  assert.is(made.length, WIRE_ROLES.length + 1);
});

certificates.run();
