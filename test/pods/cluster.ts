import type { KubernetesPrograms } from '#deploy/local/install/kubernetes';
import type { NodePrograms } from '#deploy/local/install/kubernetes-node';
import type { Print } from '#deploy/local/progress';
import { startControlPlane } from '#test/kubernetes/control-plane';
import { KubernetesObjects } from '#test/kubernetes/kubernetes-objects';
import { partFolder } from '#test/pods/machine';
import { HOST_ADDRESS, openNetwork, PLACES } from '#test/pods/network';
import { type PodNode, startNode, startPolicies } from '#test/pods/node';

/** A Kubernetes cluster with real pods on this machine. Ends with the claim of the machine. */
export type PodCluster = {
  readonly objects: KubernetesObjects;
  readonly kubeconfig: string;
  readonly kubectlProgram: string;
  readonly nodes: readonly PodNode[];
};

/** Programs of control plane and nodes. */
export type ClusterPrograms = {
  readonly kubernetes: KubernetesPrograms;
  readonly node: NodePrograms;
};

/**
 * Starts a control plane, nodes and cluster DNS. Requires `claimMachine`, whose disposal ends the
 * cluster.
 */
export async function startPodCluster(
  programs: ClusterPrograms,
  images: readonly string[],
  print: Print,
): Promise<PodCluster> {
  await openNetwork(PLACES);
  print('starting the control plane');
  const plane = await startControlPlane(programs.kubernetes, partFolder('plane'), {
    kind: 'real',
    host: HOST_ADDRESS,
  });
  const objects = new KubernetesObjects(plane);
  const nodes: PodNode[] = [];
  for (const place of PLACES) {
    print(`starting ${place.name}`);
    const options = { programs: programs.node, kubeconfig: plane.kubeconfig, images, place };
    nodes.push(await startNode(options));
    await objects.until(`${place.name} to register`, async () => {
      const names = await objects.kubectl(['get', 'nodes', '--output', 'name']);
      return names.includes(`node/${place.name}\n`);
    });
    const network = JSON.stringify({
      spec: { podCIDR: place.podNetwork, podCIDRs: [place.podNetwork] },
    });
    await objects.kubectl(['patch', 'node', place.name, '--patch', network]);
    await startPolicies(options);
  }
  await objects.kubectl(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=90s']);
  await objects.applied(['--filename', 'test/pods/dns.yaml']);
  const { kubeconfig } = plane;
  return { objects, kubeconfig, kubectlProgram: programs.kubernetes.kubectl, nodes };
}
