import { CALLERS } from '#grpc/tls';
import { SERVING } from '#test/kubernetes/manifest';

/** Who may open connections to whom: all that the network between pods lets through. */
export type Arrow = {
  readonly from: string;
  readonly to: string;
  readonly port: number;
  /** TCP unless given. */
  readonly protocol?: 'TCP' | 'UDP';
};

const GRPC = { engine: 8_100, limiter: 8_200 } as const;
const METRICS = 9_464;

/** The arrows of the architecture. What is not here, a policy must not allow. */
export const ARROWS: readonly Arrow[] = [
  { from: 'balancer', to: 'edge', port: 8_000 },
  { from: 'balancer', to: 'console', port: 8_002 },
  { from: 'edge', to: 'limiter', port: GRPC.limiter },
  { from: 'edge', to: 'engine', port: GRPC.engine },
  // Engines keep each other's listings, and look whether a silent one is dead; limiters likewise.
  { from: 'engine', to: 'engine', port: GRPC.engine },
  { from: 'limiter', to: 'limiter', port: GRPC.limiter },
  // The console does for members what an edge does for keys.
  { from: 'console', to: 'limiter', port: GRPC.limiter },
  { from: 'console', to: 'engine', port: GRPC.engine },
  { from: 'ctl', to: 'engine', port: GRPC.engine },
  { from: 'ctl', to: 'limiter', port: GRPC.limiter },
  ...['edge', 'engine', 'limiter', 'console', 'ctl'].map((from) => ({
    from,
    to: 'nats',
    port: 4_222,
  })),
  ...['engine', 'limiter', 'console', 'migrate', 'ctl'].map((from) => ({
    from,
    to: 'cassandra',
    port: 9_042,
  })),
  ...SERVING.map((to) => ({ from: 'prometheus', to, port: METRICS })),
];

/** Who answers for names in a cluster: CoreDNS, a cache on each host, or OpenShift's own. */
export const NAMES: readonly Omit<Arrow, 'from'>[] = [
  { to: 'names', port: 53 },
  { to: 'names of the host', port: 53 },
  // Behind the Service's port 53: policies see where a connection really goes.
  { to: 'names of OpenShift', port: 5_353 },
].flatMap((arrow) => [arrow, { ...arrow, protocol: 'UDP' as const }]);

/** Between processes of the service: what mutual TLS lets a role call, as arrows. */
export function arrowsOfRoles(): readonly Arrow[] {
  const arrows = Object.entries(CALLERS).flatMap(([method, callers]) => {
    const service = /\.(Engine|Limiter|Admin)\//.exec(method)?.[1];
    return callers.flatMap((from): Arrow[] => {
      switch (service) {
        case 'Engine':
          return [{ from, to: 'engine', port: GRPC.engine }];
        case 'Limiter':
          return [{ from, to: 'limiter', port: GRPC.limiter }];
        case 'Admin':
          return from === 'engine' || from === 'limiter'
            ? [{ from, to: from, port: GRPC[from] }]
            : [
                { from, to: 'engine', port: GRPC.engine },
                { from, to: 'limiter', port: GRPC.limiter },
              ];
        default:
          // Health is for operators' tools.
          return [];
      }
    });
  });
  return [...new Map(arrows.map((arrow) => [textOf(arrow), arrow])).values()];
}

/** An arrow as one reads it. */
export function textOf({ from, to, port, protocol = 'TCP' }: Arrow): string {
  return `${from} -> ${to}:${port}/${protocol}`;
}
