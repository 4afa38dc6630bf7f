import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, ConfigError } from '#config';
import { productionFaults, type Role } from '#process/production';

/**
 * Throws one `ConfigError` that names all that a process of this role may not be in production;
 * elsewhere nothing.
 */
export function assertProduction(config: Config, role: Role): void {
  if (config.SERVICE_ENVIRONMENT !== 'production') return;
  const showsCertificate = (folder: string) => existsSync(join(folder, 'tls.crt'));
  const faults = productionFaults(config, role, { showsCertificate });
  if (faults.length === 0) return;
  throw new ConfigError(`SERVICE_ENVIRONMENT=production refuses this: ${faults.join('; ')}`);
}
