import { writeFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '#test/kubernetes/kubernetes-objects';
import { NEXT_IMAGE } from '#test/pods/images';
import { issueCertificates, NAMESPACE, rolledOut, UPDATE_ORDER } from '#test/pods/installation';
import { setConnected, type Treatment, whileForbidden } from '#test/pods/network';
import type { Component, PodScene } from '#test/pods/scene';

/** A fault of the service in Kubernetes. */
export type PodFault = {
  /** Name for `--only`. */
  readonly name: string;
  /** Label in the report. */
  readonly title: string;
  /** Maximum share of failed calls; default 1. */
  readonly errorShareMax?: number;
  /** Injects the fault. Resolves when all pods are ready again. */
  readonly run: (scene: PodScene) => Promise<void>;
};

/** Number of pods of each component in the overlay. */
const COUNTS: Readonly<Record<Component, number>> = {
  ...{ engine: 3, limiter: 2, edge: 2 },
  ...{ courier: 2, console: 1 },
};

/** How long a node stays cut off, in ms: longer than the grace period of the node controller. */
const CUT_MS = 45_000;

/** Number of processes of 70 MiB that together need more memory than the limit of a pod. */
const HUNGRY = 12;

/** How long packets to an engine are forbidden, in ms: longer than any take-over waits. */
const FORBIDDEN_MS = 15_000;

const ENGINE_PORT = 8_100;

/** How long the disk for logs stays full, in ms. */
const FULL_MS = 20_000;

/** Maximum time until the kubelet has written a changed secret into its pods, in ms. */
const MOUNTED_MS_MAX = 180_000;

/** Time until processes have read changed certificates, in ms. */
const RELOADED_MS = 15_000;

/** All faults, in the order of a run. */
export const POD_FAULTS: readonly PodFault[] = [
  ...(['engine', 'edge', 'limiter', 'courier'] as const).map(killed),
  {
    name: 'delete-engine',
    title: 'kubectl delete pod of an engine',
    errorShareMax: 0,
    async run(scene) {
      const { metadata } = await scene.pod('engine');
      await scene.disturb(`delete ${metadata.name}`, () =>
        scene.kubectl('delete', 'pod', metadata.name),
      );
      await scene.ready('engine', COUNTS.engine);
    },
  },
  ...(['REJECT', 'DROP'] as const).map(forbidden),
  {
    name: 'out-of-memory',
    title: 'OOM kill of an engine',
    async run(scene) {
      const pod = await scene.pod('engine', 1);
      const [main = 0] = await scene.pidsOf(pod);
      // The kernel kills the largest process. Many small processes use up the memory of the pod.
      writeFileSync(`/proc/${main}/oom_score_adj`, '1000');
      const small = 'const kept = Buffer.alloc(2 ** 25, 1); setInterval(() => kept, 1_000);';
      const started = `child_process.spawn(process.execPath, ['--eval', '${small}'])`;
      const hungry = `for (let count = 0; count < ${HUNGRY}; count += 1) ${started};`;
      await scene.disturb(`${pod.metadata.name} runs out of memory`, async () => {
        const command = ['exec', pod.metadata.name, '--', 'node', '--eval', hungry];
        await scene.kubectl(...command).catch(() => undefined);
      });
      await scene.restarted(pod);
      await scene.ready('engine', COUNTS.engine);
    },
  },
  {
    name: 'drain',
    title: 'kubectl drain of a node',
    errorShareMax: 0,
    async run(scene) {
      const { spec } = await scene.pod('engine', 2);
      const node = spec.nodeName ?? '';
      const options = ['--ignore-daemonsets', '--delete-emptydir-data', '--force'];
      const pods = '--pod-selector=app.kubernetes.io/name=identity-engine';
      try {
        await scene.disturb(`drain ${node}`, () =>
          scene.kubectl('drain', node, ...options, pods, '--timeout=280s'),
        );
      } finally {
        await scene.kubectl('uncordon', node);
      }
      await allReady(scene);
    },
  },
  {
    name: 'cut-node',
    title: 'a node cut off for 45 s',
    async run(scene) {
      const node = scene.nodeOf(await scene.podAwayFromStores('engine'));
      await scene.disturb(`cut the cable of ${node.place.name}`, async () => {
        await setConnected(node.place, false);
        await sleep(CUT_MS);
        await setConnected(node.place, true);
      });
      await allReady(scene);
    },
  },
  {
    name: 'full-log-disk',
    title: 'disk for logs full for 20 s',
    errorShareMax: 0,
    async run(scene) {
      const { logFolder } = scene.nodeOf(await scene.pod('engine'));
      const file = join(logFolder, 'filler');
      await scene.disturb('the disk for logs is full', async () => {
        const isFull = await writeFile(file, Buffer.alloc(2 ** 28)).then(
          () => false,
          (error: NodeJS.ErrnoException) => error.code === 'ENOSPC',
        );
        if (!isFull) throw new Error('the disk for logs is not full');
        await sleep(FULL_MS);
        await rm(file);
      });
      await scene.ready('engine', COUNTS.engine);
    },
  },
  {
    name: 'certificates',
    title: 'rotation of all certificates',
    errorShareMax: 0,
    async run(scene) {
      const { metadata } = await scene.pod('engine');
      const shown = () => certificateIn(scene, metadata.name);
      const before = await shown();
      await scene.disturb('rotate all certificates', async () => {
        await issueCertificates(scene.cluster);
        const isShown = async () => (await shown()) !== before;
        await scene.objects.until('the new certificate in a pod', isShown, MOUNTED_MS_MAX);
        await sleep(RELOADED_MS);
      });
    },
  },
  {
    name: 'scale',
    title: 'one engine more, then one less',
    errorShareMax: 0,
    async run(scene) {
      for (const count of [COUNTS.engine + 1, COUNTS.engine]) {
        await scene.disturb(`scale to ${count} engines`, async () => {
          await scene.kubectl('scale', 'statefulset/engine', `--replicas=${count}`);
          await scene.ready('engine', count);
        });
      }
    },
  },
  {
    name: 'evict',
    title: 'eviction of an engine, refused for a second engine',
    errorShareMax: 0,
    async run(scene) {
      const [first, second] = [await scene.pod('engine'), await scene.pod('engine', 1)];
      await scene.disturb(`evict ${first.metadata.name}`, async () => {
        await evict(scene, first.metadata.name);
        const refused = await evict(scene, second.metadata.name).then(
          () => undefined,
          (error: Error) => error.message,
        );
        if (!refused?.includes('disruption budget')) throw new Error(`no refusal: ${refused}`);
        await scene.ready('engine', COUNTS.engine);
      });
    },
  },
  {
    name: 'update',
    title: 'update of all roles to another image',
    errorShareMax: 0,
    async run(scene) {
      for (const workload of UPDATE_ORDER) {
        await scene.disturb(`update ${workload}`, async () => {
          await scene.kubectl('set', 'image', workload, `service=${NEXT_IMAGE}`);
          await rolledOut(scene.objects, NAMESPACE, workload);
        });
      }
    },
  },
];

/** kill -9 of a container's main process. The kubelet starts the container again. */
function killed(component: Component): PodFault {
  return {
    name: `kill-${component}`,
    title: `kill -9 of ${component === 'engine' || component === 'edge' ? 'an' : 'a'} ${component}`,
    async run(scene) {
      const pod = await scene.pod(component);
      const [main = 0] = await scene.pidsOf(pod);
      await scene.disturb(`kill -9 ${pod.metadata.name}`, async () => {
        process.kill(main, 'SIGKILL');
      });
      await scene.restarted(pod);
      await scene.ready(component, COUNTS[component]);
    },
  };
}

/**
 * All packets to the gRPC port of an engine are rejected or dropped, as by a network policy. Throws
 * if the engine lost its shards, because this is no proof of its death.
 */
function forbidden(treatment: Treatment): PodFault {
  return {
    name: `${treatment.toLowerCase()}-engine`,
    title: `${treatment} of all packets to an engine for ${FORBIDDEN_MS / 1_000} s`,
    async run(scene) {
      const pod = await scene.pod('engine', 1);
      const before = await fencesOf(scene, pod);
      const to = { address: pod.status.podIP ?? '', port: ENGINE_PORT, treatment };
      await scene.disturb(`${treatment} of packets to ${pod.metadata.name}`, () =>
        whileForbidden(scene.nodeOf(pod).place, to, () => sleep(FORBIDDEN_MS)),
      );
      await scene.ready('engine', COUNTS.engine);
      const after = await fencesOf(scene, pod);
      if (after !== before) throw new Error(`${pod.metadata.name} lost its shards`);
    },
  };
}

/** Number of journals of an engine that others have sealed, with the number of its starts. */
async function fencesOf(scene: PodScene, pod: Pod): Promise<string> {
  const { name } = pod.metadata;
  const url = 'http://127.0.0.1:9464/metrics';
  const script = `fetch('${url}').then((answer) => answer.text()).then(console.log)`;
  const metrics = await scene.kubectl('exec', name, '--', 'node', '--eval', script);
  const fenced = /^journal_fenced_total\{.*\} \d+$/m.exec(metrics)?.[0];
  if (fenced === undefined) throw new Error(`${name} has no metric journal_fenced_total`);
  return `${fenced} ${await scene.restartsOf(pod)}`;
}

/** Waits until all pods of the service are ready. */
async function allReady(scene: PodScene): Promise<void> {
  for (const component of ['engine', 'limiter', 'edge', 'courier', 'console'] as const) {
    await scene.ready(component, COUNTS[component]);
  }
}

/** Digest of the certificate file in a pod. */
async function certificateIn(scene: PodScene, pod: string): Promise<string> {
  const digest = `crypto.createHash('sha256').update(fs.readFileSync('/run/tls/wire/tls.crt'))`;
  const script = `console.log(${digest}.digest('hex'))`;
  return await scene.kubectl('exec', pod, '--', 'node', '--eval', script);
}

async function evict(scene: PodScene, name: string): Promise<void> {
  const metadata = { name, namespace: NAMESPACE };
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata };
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}/eviction`;
  const args = ['create', '--raw', path, '--filename', '-'];
  await scene.objects.kubectl(args, JSON.stringify(eviction));
}
