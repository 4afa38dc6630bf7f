import { CALLERS } from '#grpc/tls';
import { SERVING } from '#test/kubernetes/manifest';

/** An allowed network connection between pods. */
export type Arrow = {
  readonly from: string;
  readonly to: string;
  readonly port: number;
  /** Default: TCP. */
  readonly protocol?: 'TCP' | 'UDP';
};

const GRPC = { engine: 8_100, limiter: 8_200, courier: 8_300 } as const;
const METRICS = 9_464;

/** Connections of the architecture. Policies must allow exactly these connections. */
export const ARROWS: readonly Arrow[] = [
  { from: 'balancer', to: 'edge', port: 8_000 },
  { from: 'balancer', to: 'console', port: 8_002 },
  { from: 'edge', to: 'limiter', port: GRPC.limiter },
  { from: 'edge', to: 'engine', port: GRPC.engine },
  // Engines call each other for listings and probe silent peers; limiters likewise.
  { from: 'engine', to: 'engine', port: GRPC.engine },
  { from: 'limiter', to: 'limiter', port: GRPC.limiter },
  { from: 'engine', to: 'courier', port: GRPC.courier },
  ...['internet', 'internet by IPv6'].map((to) => ({ from: 'courier', to, port: 443 })),
  // The console calls the limiter for members, like an edge for keys.
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

/** DNS servers in a cluster: CoreDNS, a cache on each host, or OpenShift's DNS. */
export const NAMES: readonly Omit<Arrow, 'from'>[] = [
  { to: 'names', port: 53 },
  { to: 'names of the host', port: 53 },
  // Policies apply to this port of the pod, not to port 53 of the Service.
  { to: 'names of OpenShift', port: 5_353 },
].flatMap((arrow) => [arrow, { ...arrow, protocol: 'UDP' as const }]);

/** Connections between roles that mutual TLS allows. */
export function roleArrows(): readonly Arrow[] {
  const arrows = Object.entries(CALLERS).flatMap(([method, callers]) => {
    const service = /\.(Engine|Limiter|Courier|Admin)\//.exec(method)?.[1];
    return callers.flatMap((from): Arrow[] => {
      switch (service) {
        case 'Engine':
          return [{ from, to: 'engine', port: GRPC.engine }];
        case 'Limiter':
          return [{ from, to: 'limiter', port: GRPC.limiter }];
        case 'Courier':
          return [{ from, to: 'courier', port: GRPC.courier }];
        case 'Admin':
          return from === 'engine' || from === 'limiter'
            ? [{ from, to: from, port: GRPC[from] }]
            : [
                { from, to: 'engine', port: GRPC.engine },
                { from, to: 'limiter', port: GRPC.limiter },
              ];
        default:
          // The health service is for tools of operators.
          return [];
      }
    });
  });
  return [...new Map(arrows.map((arrow) => [textOf(arrow), arrow])).values()];
}

/** Text of a connection: `a -> b:port/protocol`. */
export function textOf({ from, to, port, protocol = 'TCP' }: Arrow): string {
  return `${from} -> ${to}:${port}/${protocol}`;
}
