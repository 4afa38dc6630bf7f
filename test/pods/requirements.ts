import { MissingServer } from '#deploy/local/install/missing-server';
import { systemProgramPath } from '#deploy/local/install/program-path';
import { runProgram } from '#deploy/local/processes/run-program';

/** Debian packages of the programs that nodes and images need, with a program of each package. */
const PACKAGES: Readonly<Record<string, string>> = {
  conntrack: 'conntrack',
  gcc: 'gcc',
  haproxy: 'haproxy',
  ipset: 'ipset',
  iproute2: 'ip',
  iptables: 'iptables',
  openssl: 'openssl',
  'pkg-config': 'pkg-config',
  procps: 'sysctl',
  umoci: 'umoci',
};

const ASK_MS_MAX = 10_000;

/** Path of a program, also outside `PATH`. Throws `MissingServer`. */
export function neededProgram(name: string): string {
  const path = systemProgramPath(name);
  if (path === undefined) throw new MissingServer(`${name} is missing`);
  return path;
}

/** Throws `MissingServer` if this user or machine cannot run nodes. Names all missing packages. */
export async function assertRequirements(): Promise<void> {
  if (process.getuid?.() !== 0)
    throw new MissingServer('nodes need root: run this command as root');
  const missing = Object.entries(PACKAGES)
    .filter(([, name]) => systemProgramPath(name) === undefined)
    .map(([debianPackage]) => debianPackage);
  // runc links the library for system call filters.
  if (!(await compiles('seccomp.h'))) missing.push('libseccomp-dev');
  if (!(await compiles('stdio.h'))) missing.push('libc6-dev');
  if (missing.length > 0) {
    throw new MissingServer(`packages are missing: apt-get install ${missing.join(' ')}`);
  }
  const { isOk, output } = await ask('unshare', '--net', '--mount', 'true');
  if (!isOk) throw new MissingServer(`nodes need network namespaces: ${output.trim()}`);
}

async function compiles(header: string): Promise<boolean> {
  const { isOk } = await ask('sh', '-c', `echo '#include <${header}>' | gcc -E -o /dev/null -`);
  return isOk;
}

function ask(program: string, ...args: readonly string[]) {
  return runProgram({ program, args, msMax: ASK_MS_MAX });
}
