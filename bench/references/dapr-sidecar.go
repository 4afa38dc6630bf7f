// A Dapr sidecar whose only component is Redis as state store. Dapr's own program links all
// components and uses multicast to find other sidecars.
package main

import (
	"context"
	"os"

	"github.com/dapr/components-contrib/state/redis"
	"github.com/dapr/dapr/cmd/daprd/options"
	"github.com/dapr/dapr/pkg/components/state"
	"github.com/dapr/dapr/pkg/healthz"
	"github.com/dapr/dapr/pkg/metrics"
	"github.com/dapr/dapr/pkg/modes"
	"github.com/dapr/dapr/pkg/runtime"
	"github.com/dapr/dapr/pkg/runtime/registry"
	"github.com/dapr/dapr/pkg/security"
	"github.com/dapr/kit/concurrency"
	"github.com/dapr/kit/logger"
	"github.com/dapr/kit/signals"
)

var log = logger.NewLogger("sidecar")

func main() {
	opts, err := options.New(os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	opts.Logger.SetAppID(opts.AppID)
	if err = logger.ApplyOptionsToLoggers(&opts.Logger); err != nil {
		log.Fatal(err)
	}
	state.DefaultRegistry.Logger = log
	state.DefaultRegistry.RegisterComponent(redis.NewRedisStateStore, "redis")
	ctx := signals.Context()
	health := healthz.New()
	provider, err := security.New(ctx, security.Options{
		ControlPlaneTrustDomain: opts.ControlPlaneTrustDomain,
		ControlPlaneNamespace:   opts.ControlPlaneNamespace,
		AppID:                   opts.AppID,
		Mode:                    modes.DaprMode(opts.Mode),
		Healthz:                 health,
	})
	if err != nil {
		log.Fatal(err)
	}
	run := func(ctx context.Context) error { return sidecar(ctx, provider, opts, health) }
	if err = concurrency.NewRunnerManager(provider.Run, run).Run(ctx); err != nil {
		log.Fatal(err)
	}
}

func sidecar(
	ctx context.Context,
	provider security.Provider,
	opts *options.Options,
	health healthz.Healthz,
) error {
	handler, err := provider.Handler(ctx)
	if err != nil {
		return err
	}
	sidecar, err := runtime.FromConfig(ctx, &runtime.Config{
		AppID:                         opts.AppID,
		ActorsService:                 opts.ActorsService,
		AllowedOrigins:                opts.AllowedOrigins,
		ResourcesPath:                 opts.ResourcesPath,
		AppProtocol:                   opts.AppProtocol,
		Mode:                          opts.Mode,
		DaprHTTPPort:                  opts.DaprHTTPPort,
		DaprInternalGRPCPort:          opts.DaprInternalGRPCPort,
		DaprInternalGRPCListenAddress: opts.DaprInternalGRPCListenAddress,
		DaprAPIGRPCPort:               opts.DaprAPIGRPCPort,
		DaprAPIListenAddresses:        opts.DaprAPIListenAddresses,
		ApplicationPort:               opts.AppPort,
		ProfilePort:                   opts.ProfilePort,
		AppMaxConcurrency:             opts.AppMaxConcurrency,
		MaxRequestSize:                opts.MaxRequestSize,
		ReadBufferSize:                opts.ReadBufferSize,
		DaprGracefulShutdownSeconds:   opts.DaprGracefulShutdownSeconds,
		AppHealthCheckPath:            opts.AppHealthCheckPath,
		AppHealthProbeInterval:        opts.AppHealthProbeInterval,
		AppHealthProbeTimeout:         opts.AppHealthProbeTimeout,
		AppHealthThreshold:            opts.AppHealthThreshold,
		AppChannelAddress:             opts.AppChannelAddress,
		Config:                        opts.Config,
		Metrics:                       metrics.Options{Log: log, Healthz: health},
		Registry:                      registry.NewOptions().WithStateStores(state.DefaultRegistry),
		Security:                      handler,
		Healthz:                       health,
	})
	if err != nil {
		return err
	}
	return sidecar.Run(ctx)
}
