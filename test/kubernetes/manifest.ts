import { execFileSync } from 'node:child_process';
import { parseAllDocuments } from 'yaml';

/** The overlays of `deploy/kubernetes`. */
export const OVERLAYS = ['local', 'staging', 'production'] as const;
export type Overlay = (typeof OVERLAYS)[number];

/** Labels by name. */
export type Labels = Readonly<Record<string, string>>;

export type Selector = {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly MatchExpression[];
};

/** A condition on a label. */
type MatchExpression = {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
};

type Probe = { readonly httpGet?: { readonly path: string; readonly port: string } };

type Variable = {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
};

export type Container = {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: readonly Variable[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly resources: { readonly limits: Labels; readonly requests: Labels };
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly securityContext: Readonly<Record<string, unknown>>;
};

type Volume = {
  readonly name: string;
  readonly secret?: {
    readonly secretName: string;
    readonly defaultMode?: number;
    readonly items?: readonly { readonly key: string; readonly path: string }[];
  };
  readonly configMap?: { readonly name: string };
  readonly emptyDir?: object;
};

export type PodTemplate = {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly automountServiceAccountToken?: boolean;
    readonly terminationGracePeriodSeconds?: number;
    readonly containers: readonly Container[];
    readonly volumes?: readonly Volume[];
    readonly topologySpreadConstraints?: readonly { readonly labelSelector: Selector }[];
  };
};

/** Tested fields of a manifest. The kind determines which fields exist. */
export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Labels;
  };
  readonly data?: Labels;
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly podManagementPolicy?: string;
    readonly serviceName?: string;
    readonly selector?: Selector & Labels;
    readonly template: PodTemplate;
    readonly clusterIP?: string;
    readonly publishNotReadyAddresses?: boolean;
    readonly ports?: readonly { readonly port: number; readonly targetPort: string }[];
    readonly maxUnavailable?: number;
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  };
};

/** Serving components: all except `migrate` and `ctl`. */
export const SERVING: readonly string[] = ['edge', 'engine', 'limiter', 'courier', 'console'];

/** Kinds with a pod template. */
export const WORKLOADS = ['Deployment', 'StatefulSet', 'Job'];

/** Renders an overlay, like `kubectl apply -k`. */
export function rendered(kustomize: string, overlay: Overlay): readonly Manifest[] {
  return renderedFolder(kustomize, `deploy/kubernetes/overlays/${overlay}`);
}

/** Renders production with every optional component. */
export function renderedWithEveryComponent(kustomize: string): readonly Manifest[] {
  return renderedFolder(kustomize, 'test/kubernetes/every-component');
}

function renderedFolder(kustomize: string, folder: string): readonly Manifest[] {
  const options = { encoding: 'utf8', maxBuffer: 16 * 1_024 * 1_024 } as const;
  const text = execFileSync(kustomize, ['build', folder], options);
  return manifestsIn(text);
}

/** Parses manifests from a multi-document YAML text. */
export function manifestsIn(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

/** Manifests of the given kinds. */
export function ofKind(manifests: readonly Manifest[], ...kinds: readonly string[]): Manifest[] {
  return manifests.filter(({ kind }) => kinds.includes(kind));
}

/** The Job that a CronJob creates. */
export function jobOf({ metadata, spec }: Manifest): Manifest {
  const { jobTemplate } = spec as unknown as { readonly jobTemplate: Pick<Manifest, 'spec'> };
  return { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: jobTemplate.spec };
}

/** Whether a selector matches these labels. */
export function selects(selector: Selector, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every((expression) => holds(expression, labels[expression.key]))
  );
}

function holds({ operator, values = [] }: MatchExpression, label: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return label !== undefined && values.includes(label);
    case 'NotIn':
      return label === undefined || !values.includes(label);
    case 'Exists':
      return label !== undefined;
    case 'DoesNotExist':
      return label === undefined;
  }
}

/** The service's container in a pod; throws for other pods. */
export function serviceContainer({ spec }: PodTemplate): Container {
  const found = spec.containers.find(({ name }) => name === 'service');
  if (found === undefined) throw new Error('the pod has no container named service');
  return found;
}

/** Workloads of the service, without workloads of the stores. */
export function ownWorkloads(manifests: readonly Manifest[]): readonly Manifest[] {
  return ofKind(manifests, ...WORKLOADS).filter(({ spec }) =>
    spec.template.spec.containers.some(({ name }) => name === 'service'),
  );
}

/** Component label of a workload. */
export function componentOf({ metadata }: Manifest): string {
  return metadata.labels?.['app.kubernetes.io/component'] ?? '';
}

/** Environment variables of a container, with sample values for pod fields. */
export function variablesOf(
  { env = [], envFrom = [] }: Container,
  manifests: readonly Manifest[],
): Readonly<Record<string, string>> {
  const maps = envFrom.map(({ configMapRef: { name } }) => {
    const map = ofKind(manifests, 'ConfigMap').find(({ metadata }) => metadata.name === name);
    if (map === undefined) throw new Error(`ConfigMap ${name} is missing`);
    return map.data ?? {};
  });
  const own = env.map(({ name, value, valueFrom }) => {
    const known = value?.replaceAll('$(POD_IP)', '10.0.0.1');
    return [name, known ?? FIELDS[valueFrom?.fieldRef?.fieldPath ?? ''] ?? ''] as const;
  });
  return Object.assign({}, ...maps, Object.fromEntries(own));
}

/** Sample values of pod fields. */
const FIELDS: Readonly<Record<string, string>> = {
  'metadata.name': 'engine-0',
  'status.podIP': '10.0.0.1',
};
