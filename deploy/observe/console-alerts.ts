import type { Alert, AlertCase } from '#deploy/observe/alert';

const REFUSED = 'sum(increase(console_sign_ins_total{outcome!="right"}[5m]))';

/** Alerts about the console and the audit trail. */
export const CONSOLE_ALERTS: readonly Alert[] = [
  {
    name: 'NoConsole',
    severity: 'ticket',
    // Only for installations that had a console within the last day.
    expr: 'absent(up{job="console"} == 1) and on () present_over_time(up{job="console"}[1d])',
    forS: 60,
    summary: 'no console answers: users cannot sign in; the API is not affected',
    firing: {
      series: {
        'up{job="console",instance="a"}': '1x4 0x12',
        'up{job="edge",instance="b"}': '1x16',
      },
      atS: 210,
    },
    quiet: {
      series: {
        'up{job="console",instance="a"}': '0x16',
        'up{job="console",instance="b"}': '1x16',
      },
      atS: 210,
    },
    alsoQuiet: [{ series: { 'up{job="edge",instance="b"}': '1x16' }, atS: 210 }],
  },
  {
    name: 'SignInsRefused',
    severity: 'ticket',
    // The share excludes the usual typing errors of many users; the minimum excludes a few
    // attempts.
    expr: `${REFUSED} > 50 and ${REFUSED} > 0.8 * sum(increase(console_sign_ins_total[5m]))`,
    forS: 0,
    summary: 'more than 50 sign-ins failed within five minutes, more than 80 % of all attempts',
    firing: signIns('0+3x28', '0+0x28'),
    quiet: signIns('0+3x28', '0+2x28'),
    alsoQuiet: [signIns('0+1x28', '0+0x28')],
  },
  {
    name: 'AuditUnavailable',
    severity: 'page',
    expr: 'sum(increase(audit_failures_total[2m])) > 5',
    forS: 30,
    summary:
      'the audit trail cannot be written: changes of accounts and instances are refused; observations work',
    firing: {
      series: { 'audit_failures_total{job="limiter",instance="a"}': '0x4 1+2x30' },
      atS: 420,
    },
    quiet: {
      series: { 'audit_failures_total{job="limiter",instance="a"}': '0x4 1x1 2x1 3x14' },
      atS: 210,
    },
  },
];

/** Test case with these series of refused and successful sign-ins. */
function signIns(refused: string, right: string): AlertCase {
  const name = 'console_sign_ins_total';
  return {
    series: {
      [`${name}{job="console",step="password",outcome="too_early"}`]: refused,
      [`${name}{job="console",step="password",outcome="right"}`]: right,
    },
    atS: 405,
  };
}
