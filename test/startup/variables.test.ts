import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { INSTANCES_OF, RETENTION_DAYS_MAX } from '#accounts/plan';
import { ConfigError, describeVariables, readConfig } from '#config';
import { MODELS } from '#identity/model';

const variables = suite('the environment variables');

variables('all have a description, and no secret has a default', () => {
  for (const { name, fallback, meaning } of describeVariables()) {
    assert.match(name, /^(?:SERVICE|OTEL)_[A-Z_]+$/);
    assert.match(meaning, /^[A-Za-z`/].*\.$/, name);
    if (name.includes('SECRET')) assert.is(fallback, '');
  }
});

variables('have their defaults if unset', () => {
  const config = readConfig({ PATH: '/bin' });
  for (const { name, fallback } of describeVariables()) {
    const value = config[name as keyof typeof config];
    assert.is(value === undefined ? '' : String(value), fallback, name);
  }
});

variables('have their typed values if set', () => {
  const config = readConfig({
    SERVICE_PORT: '65535',
    SERVICE_DOCS_ENABLED: 'true',
    SERVICE_TRUSTED_PROXIES: '10.0.0.0/8,::1',
    SERVICE_ENGINE_ADDRESS: '[::1]:8100',
  });
  assert.is(config.SERVICE_PORT, 65_535);
  assert.is(config.SERVICE_DOCS_ENABLED, true);
  assert.equal(config.SERVICE_TRUSTED_PROXIES, ['10.0.0.0/8', '::1']);
  assert.is(config.SERVICE_ENGINE_ADDRESS, '[::1]:8100');
});

variables('of the retention accept every plan, and the same days as an account', () => {
  for (const plan of Object.keys(INSTANCES_OF)) {
    for (const days of [1, RETENTION_DAYS_MAX]) {
      const config = readConfig({ SERVICE_RETENTION_DAYS: `${plan}=${days}` });
      assert.equal(config.SERVICE_RETENTION_DAYS, { [plan]: days });
    }
  }
  const two = readConfig({ SERVICE_RETENTION_DAYS: 'pro=365,free=30' });
  assert.equal(two.SERVICE_RETENTION_DAYS, { pro: 365, free: 30 });
});

variables('of the newest model accept every model, and the newest one by default', () => {
  assert.is(readConfig({}).SERVICE_MODEL_MAX, MODELS.newest.version);
  for (const version of MODELS.versions) {
    assert.is(readConfig({ SERVICE_MODEL_MAX: version }).SERVICE_MODEL_MAX, version);
  }
});

for (const [name, value] of [
  ['SERVICE_PORT', '65536'],
  ['SERVICE_PORT', '0x50'],
  ['SERVICE_PORT', ' 80'],
  ['SERVICE_DOCS_ENABLED', 'TRUE'],
  ['SERVICE_ADMIN_URL', 'https://127.0.0.1:8001'],
  ['SERVICE_TRUSTED_PROXIES', '10.0.0.0/33'],
  ['SERVICE_TRUSTED_PROXIES', '10.0.0.0/8, anyone'],
  ['SERVICE_ACTOR_MEMORY_MIB', '0'],
  ['SERVICE_LOG_LEVEL', 'loud'],
  ...['', 'free', 'free=0', 'free=-1', 'free=1.5', 'free=36501', 'free=99999', 'gold=3'].map(
    (value) => ['SERVICE_RETENTION_DAYS', value] as const,
  ),
  ['SERVICE_RETENTION_DAYS', 'free=30,free=31'],
  ['SERVICE_RETENTION_DAYS', 'free=30, pro=31'],
  ...['api.example.com/v1', 'ftp://a.example/v1', 'https://a.example', 'https://a.example/v1/'].map(
    (value) => ['SERVICE_API_URL', value] as const,
  ),
  ['SERVICE_API_URL', 'https://user:word@a.example/v1'],
  ['SERVICE_API_URL', 'https://a.example/?q=/v1'],
  ['SERVICE_prot', '1'],
] as const) {
  variables(`such as ${name}=${value} are rejected with one line that names them`, () => {
    try {
      readConfig({ [name]: value });
    } catch (error) {
      assert.instance(error, ConfigError);
      const { message } = error as ConfigError;
      assert.ok(message.startsWith(`${name}: `), message);
      assert.not.match(message, /\n/);
      return;
    }
    assert.unreachable();
  });
}

variables.run();
