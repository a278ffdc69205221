// A collector with the receiver of OTLP, and an exporter that appends each request it gets to a
// file, as one line of JSON.
package main

import (
	"context"
	"log"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

type config struct {
	Path string `mapstructure:"path"`
}

// lines writes requests one after the other, whole lines only.
type lines struct {
	component.StartFunc
	component.ShutdownFunc
	consumer.Metrics
}

func newLines(_ context.Context, _ exporter.Settings, cfg component.Config) (exporter.Metrics, error) {
	file, err := os.OpenFile(cfg.(*config).Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	var marshaler pmetric.JSONMarshaler
	write, err := consumer.NewMetrics(func(_ context.Context, metrics pmetric.Metrics) error {
		text, err := marshaler.MarshalMetrics(metrics)
		if err != nil {
			return err
		}
		_, err = file.Write(append(text, '\n'))
		return err
	})
	return lines{Metrics: write}, err
}

func factories() (otelcol.Factories, error) {
	otlp := otlpreceiver.NewFactory()
	written := exporter.NewFactory(
		component.MustNewType("lines"),
		func() component.Config { return &config{} },
		exporter.WithMetrics(newLines, component.StabilityLevelStable),
	)
	return otelcol.Factories{
		Receivers: map[component.Type]receiver.Factory{otlp.Type(): otlp},
		Exporters: map[component.Type]exporter.Factory{written.Type(): written},
		Telemetry: otelconftelemetry.NewFactory(),
	}, nil
}

func main() {
	providers := []confmap.ProviderFactory{fileprovider.NewFactory()}
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Version: "1"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{DefaultScheme: "file", ProviderFactories: providers},
		},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
