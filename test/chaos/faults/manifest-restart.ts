import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, parseAllDocuments } from 'yaml';
import { BACK_MS, type Fault } from '#test/chaos/faults/fault';
import type { Scene } from '#test/chaos/scene';

const BASE = 'deploy/kubernetes/base';

type Kind = 'limiter' | 'engine' | 'edge';

/** Timing of a pod replacement in Kubernetes, in milliseconds. */
type Times = {
  /** From the start of the replacement to SIGTERM. */
  readonly preStopMs: number;
  /** From the start of the replacement to SIGKILL. */
  readonly graceMs: number;
  /** From readiness to the replacement of the next pod. */
  readonly minReadyMs: number;
};

/** Reads a pod kind's timing from the manifests. */
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
 * Rolling restart like in Kubernetes: replaces one process at a time, with the delays in the
 * manifests. No call may fail.
 */
export const MANIFEST_RESTART: Fault = {
  name: 'restart-by-manifests',
  title: 'rolling restart with the delays of the Kubernetes manifests',
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
      const took = `${name} took ${Math.round(tookMs)} ms to stop`;
      scene.findings.add(`${took}; the grace period is ${times.graceMs} ms`);
    }
    await scene.cluster.start(name);
    await sleep(times.minReadyMs);
  });
  await scene.served();
}
