import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, parseAllDocuments } from 'yaml';
import { BACK_MS, type Fault } from '#test/chaos/faults/fault';
import type { Scene } from '#test/chaos/scene';

const BASE = 'deploy/kubernetes/base';

type Kind = 'limiter' | 'engine' | 'edge';

/** Timing of a pod replacement in Kubernetes, in milliseconds. */
type Times = {
  /** From the decision to SIGTERM. */
  readonly preStopMs: number;
  /** From the decision to SIGKILL. */
  readonly graceMs: number;
  /** From readiness to the next pod. */
  readonly minReadyMs: number;
};

/** Timing in the manifests for pods of this kind. */
function timesOf(kind: Kind): Times {
  const { spec } = parse(readFileSync(`${BASE}/serving-pod.yaml`, 'utf8')).spec.template;
  const [workload] = parseAllDocuments(readFileSync(`${BASE}/${kind}.yaml`, 'utf8'));
  return {
    preStopMs: spec.containers[0].lifecycle.preStop.sleep.seconds * 1_000,
    graceMs: spec.terminationGracePeriodSeconds * 1_000,
    minReadyMs: workload?.toJS().spec.minReadySeconds * 1_000,
  };
}

/**
 * Rolling restart as in the manifests: one pod at a time within its disruption budget, with the
 * manifests' delays. No call may fail.
 */
export const MANIFEST_RESTART: Fault = {
  name: 'restart-by-manifests',
  title: 'rolling restart by the manifests',
  errorShareMax: 0,
  async run(scene) {
    for (const kind of ['limiter', 'engine', 'edge'] as const) {
      for (const name of scene.named(kind)) await replace(scene, name, timesOf(kind));
    }
    await sleep(BACK_MS);
  },
};

async function replace(scene: Scene, name: string, times: Times): Promise<void> {
  await scene.disturb(`${name}: preStop, SIGTERM, start, wait`, async () => {
    const decidedMs = performance.now();
    await sleep(times.preStopMs);
    await scene.cluster.stop(name);
    const tookMs = performance.now() - decidedMs;
    if (tookMs > times.graceMs) {
      scene.findings.add(`${name} took ${Math.round(tookMs)} ms to end, of ${times.graceMs}`);
    }
    await scene.cluster.start(name);
    await sleep(times.minReadyMs);
  });
  await scene.served();
}
