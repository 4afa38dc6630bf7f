import * as assert from 'uvu/assert';
import { METRICS } from '#telemetry/metrics';
import { OVERLAY_MANIFESTS, suite, WITH_EVERY_COMPONENT } from '#test/kubernetes/kustomize';
import {
  componentOf,
  type Manifest,
  ofKind,
  ownWorkloads,
  SERVING,
  selects,
  serviceContainer,
  variablesOf,
  WORKLOADS,
} from '#test/kubernetes/manifest';

type Scaler = {
  readonly scaleTargetRef: { readonly kind: string; readonly name: string };
  readonly metrics: readonly {
    readonly type: string;
    readonly resource?: { readonly name: string };
    readonly pods?: { readonly metric: { readonly name: string } };
  }[];
};

const components = suite('the optional components');

components('scale edges by a metric of the service besides CPU', () => {
  const [scaler] = ofKind(WITH_EVERY_COMPONENT, 'HorizontalPodAutoscaler');
  assert.ok(scaler);
  const { metrics } = scaler.spec as unknown as Scaler;
  assert.equal(
    metrics.map(({ resource, pods }) => resource?.name ?? pods?.metric.name),
    ['cpu', 'edge_inflight'],
  );
  assert.ok('edge_inflight' in METRICS);
});

components('have the label that kube-prometheus-stack selects', () => {
  const watched = ofKind(WITH_EVERY_COMPONENT, 'PodMonitor', 'PrometheusRule');
  assert.equal(
    watched.map(({ kind, metadata }) => [kind, metadata.labels?.['release']]),
    ['PodMonitor', 'PrometheusRule'].map((kind) => [kind, 'kube-prometheus-stack']),
  );
});

components('allow connections to the trace collector', () => {
  const policies = ofKind(WITH_EVERY_COMPONENT, 'NetworkPolicy').map((each) => each.metadata.name);
  assert.ok(policies.includes('to-collector'));
});

components.run();

for (const [overlay, manifests] of OVERLAY_MANIFESTS) {
  const parts = suite(`the objects of overlay ${overlay}`);
  const workloads = ofKind(manifests, ...WORKLOADS);
  const chosen = (selector: Parameters<typeof selects>[0]) =>
    workloads.filter(({ spec }) => selects(selector, spec.template.metadata.labels));
  const single = (kind: string, name: string): Manifest => {
    const found = ofKind(manifests, kind).filter(({ metadata }) => metadata.name === name);
    assert.is(found.length, 1, `${kind} ${name}`);
    return found[0] as Manifest;
  };

  parts(
    'include edge, engine, limiter, courier, console, ctl and migrate, all in a single namespace',
    () => {
      const own = ownWorkloads(manifests).map((each) => `${each.kind} ${componentOf(each)}`);
      const wanted = SERVING.map((name) =>
        ['engine', 'limiter'].includes(name) ? `StatefulSet ${name}` : `Deployment ${name}`,
      );
      assert.equal(own.toSorted(), ['Deployment ctl', 'Job migrate', ...wanted].toSorted());
      const [namespace] = ofKind(manifests, 'Namespace');
      for (const each of manifests) {
        if (each.kind === 'Namespace') continue;
        assert.is(each.metadata.namespace, namespace?.metadata.name, `${each.kind}`);
      }
    },
  );

  parts("have selectors that match only their own workload's pods", () => {
    for (const { kind, metadata, spec } of workloads) {
      if (kind === 'Job') continue;
      const names = chosen(spec.selector ?? {}).map((each) => each.metadata.name);
      assert.equal(names, [metadata.name], `${kind} ${metadata.name}`);
    }
  });

  parts('include Services with the names and ports of workloads', () => {
    const services = ofKind(manifests, 'Service');
    assert.ok(services.length >= SERVING.length);
    for (const { metadata, spec } of services) {
      const [workload, ...others] = chosen({ matchLabels: spec.selector ?? {} });
      assert.equal(others, []);
      assert.is(workload?.metadata.name, metadata.name);
      const names = workload?.spec.template.spec.containers.flatMap(({ ports = [] }) => ports);
      for (const { targetPort } of spec.ports ?? []) {
        assert.ok(
          names?.some(({ name }) => name === targetPort),
          `${metadata.name}: ${targetPort}`,
        );
      }
    }
  });

  for (const name of ['engine', 'limiter']) {
    parts(`give every ${name} pod a DNS name before it is ready`, () => {
      const { spec } = single('StatefulSet', name);
      assert.is(spec.serviceName, name);
      assert.is(spec.podManagementPolicy, 'Parallel');
      assert.is(spec.minReadySeconds, 30);
      assert.is(spec.volumeClaimTemplates, undefined);
      const service = single('Service', name).spec;
      assert.is(service.clusterIP, 'None');
      assert.is(service.publishNotReadyAddresses, true);
      const env = serviceContainer(spec.template).env ?? [];
      const named = env.find((each) => each.name === 'SERVICE_NODE_NAME');
      assert.is(named?.valueFrom?.fieldRef?.fieldPath, 'metadata.name');
    });
  }

  for (const name of SERVING) {
    parts(`allow the eviction of a single ${name} at a time`, () => {
      const { spec } = single('PodDisruptionBudget', name);
      assert.is(spec.maxUnavailable, 1);
      const names = chosen(spec.selector ?? {}).map(({ metadata }) => metadata.name);
      assert.equal(names, [name]);
    });

    parts(`spread ${name} pods over hosts and zones by their labels`, () => {
      const [workload] = chosen({ matchLabels: { 'app.kubernetes.io/component': name } });
      const constraints = workload?.spec.template.spec.topologySpreadConstraints ?? [];
      assert.is(constraints.length, 2);
      for (const { labelSelector } of constraints) {
        assert.equal(
          chosen(labelSelector).map(({ metadata }) => metadata.name),
          [name],
        );
      }
    });
  }

  parts('include enough consoles, with their public address in consoles and ctl', () => {
    const { spec } = single('Deployment', 'console');
    assert.ok((spec.replicas ?? 0) >= (overlay === 'local' ? 1 : 2));
    const variables = variablesOf(serviceContainer(spec.template), manifests);
    const { SERVICE_CONSOLE_ORIGIN: origin = '', SERVICE_API_URL: api = '' } = variables;
    assert.match(api, overlay === 'local' ? /^http:\/\/127\.0\.0\.1:8000\/v1$/ : /^https:/);
    const ctl = single('Deployment', 'ctl').spec.template;
    assert.is(variablesOf(serviceContainer(ctl), manifests)['SERVICE_CONSOLE_ORIGIN'], origin);
    assert.match(origin, overlay === 'local' ? /^http:\/\/127\.0\.0\.1:/ : /^https:/);
  });

  parts('scale edges by CPU, a metric that every cluster has', () => {
    const scaler = single('HorizontalPodAutoscaler', 'edge').spec as unknown as Scaler;
    const target = single(scaler.scaleTargetRef.kind, scaler.scaleTargetRef.name);
    assert.is(target.spec.replicas, undefined, 'applying the manifest must not undo scaling');
    // An unavailable metric prevents the autoscaler from scaling down.
    assert.equal(
      scaler.metrics.map(({ type, resource }) => [type, resource?.name]),
      [['Resource', 'cpu']],
    );
  });

  if (overlay !== 'local') {
    parts('include a PodMonitor that scrapes exactly the serving pods', () => {
      const { spec } = single('PodMonitor', 'identity-engine');
      const monitor = spec as unknown as {
        jobLabel: string;
        podMetricsEndpoints: { port: string; path: string }[];
      };
      const names = chosen(spec.selector ?? {}).map(({ metadata }) => metadata.name);
      assert.equal(names.toSorted(), SERVING.toSorted());
      const scraped = monitor.podMetricsEndpoints.map(({ port, path }) => `${port} ${path}`);
      assert.equal(scraped, ['metrics /metrics']);
      assert.is(
        monitor.jobLabel,
        'app.kubernetes.io/component',
        'the alert rules use these job names',
      );
    });
  }

  parts.run();
}
