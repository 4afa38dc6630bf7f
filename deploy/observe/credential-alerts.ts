import type { Alert } from '#deploy/observe/alert';

const DAY_S = 86_400;
const END = 'tls_certificate_expiry_timestamp_seconds';
const FAILURES = 'credential_reload_failures_total';

/** Alerts about certificate files and secret files. */
export const CREDENTIAL_ALERTS: readonly Alert[] = [
  {
    name: 'CertificateExpiresSoon',
    severity: 'ticket',
    expr: `min by (job, use) (${END}) - time() < ${14 * DAY_S}`,
    forS: 30,
    summary:
      'a certificate ({{ $labels.use }}) in use by {{ $labels.job }} expires within 14 days and was not renewed',
    firing: {
      series: {
        [`${END}{job="engine",instance="a",use="wire"}`]: `${90 * DAY_S}x16`,
        [`${END}{job="engine",instance="b",use="wire"}`]: `${14 * DAY_S}x16`,
      },
      atS: 210,
      labels: { job: 'engine', use: 'wire' },
    },
    quiet: {
      series: { [`${END}{job="engine",instance="b",use="wire"}`]: `${14 * DAY_S + 600}x16` },
      atS: 210,
    },
    alsoQuiet: [
      {
        // The certificate was renewed before the alert.
        series: {
          [`${END}{job="engine",instance="b",use="wire"}`]: `${14 * DAY_S}x8 ${90 * DAY_S}x8`,
        },
        atS: 210,
      },
    ],
  },
  {
    name: 'CertificateExpires',
    severity: 'page',
    expr: `min by (job, use) (${END}) - time() < ${2 * DAY_S}`,
    forS: 30,
    summary:
      'a certificate ({{ $labels.use }}) in use by {{ $labels.job }} expires within 2 days; new connections then fail',
    firing: {
      series: { [`${END}{job="edge",instance="a",use="nats_authority"}`]: `${2 * DAY_S}x16` },
      atS: 210,
      labels: { job: 'edge', use: 'nats_authority' },
    },
    quiet: {
      series: { [`${END}{job="edge",instance="a",use="nats_authority"}`]: `${3 * DAY_S}x16` },
      atS: 210,
    },
  },
  {
    name: 'CredentialReloadFails',
    severity: 'ticket',
    // Increases every two seconds while the files are invalid.
    expr: `sum by (job, instance, use) (increase(${FAILURES}[2m])) > 0`,
    forS: 0,
    summary:
      '{{ $labels.job }} {{ $labels.instance }} cannot use its changed files ({{ $labels.use }}) and keeps the previous content',
    firing: {
      series: { [`${FAILURES}{job="edge",instance="a",use="cluster_secret"}`]: '0x8 1+7x8' },
      atS: 210,
      labels: { job: 'edge', instance: 'a', use: 'cluster_secret' },
    },
    quiet: {
      // The files were corrected three minutes ago.
      series: { [`${FAILURES}{job="edge",instance="a",use="cluster_secret"}`]: '0x2 7x1 14x16' },
      atS: 270,
    },
  },
];
