package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	toolkit "github.com/prometheus/exporter-toolkit/web"
)

// farewell is how long answers in flight may take once the process is to end.
const farewell = 3 * time.Second

// Serve serves on the addresses of the flags until ctx is done, and then lets
// answers in flight end. The error says why it could not serve.
func Serve(ctx context.Context, handler http.Handler, flags *toolkit.FlagConfig, logger *slog.Logger) error {
	// No write timeout: the metrics handler sets its own by the scrape's.
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- toolkit.ListenAndServe(server, flags, logger) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	logger.Info("stopping")
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := server.Shutdown(patience); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
