package server

import (
	"context"
	"io"
	"log/slog"
)

// ctx is for slog, whose levels beyond its own want one.
var ctx = context.Background()

// Redis's log levels on slog's scale; slog has none between debug and info.
const (
	levelVerbose = slog.Level(-2)
	levelNothing = slog.Level(100)
)

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "verbose": levelVerbose, "notice": slog.LevelInfo, "warning": slog.LevelWarn, "nothing": levelNothing,
}

// levelNames are the levels as the log prints them.
var levelNames = map[slog.Level]string{slog.LevelDebug: "debug", levelVerbose: "verbose", slog.LevelInfo: "notice", slog.LevelWarn: "warning", slog.LevelError: "warning"}

// NewLogger logs to w, as finely as the loglevel parameter says at each moment.
func NewLogger(w io.Writer, p *Parameters) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: leveler{p},
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if level, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey && len(groups) == 0 {
				return slog.String(slog.LevelKey, levelNames[level])
			}
			return a
		},
	}))
}

// leveler reads the level anew for each message, so that CONFIG SET loglevel needs no hook.
type leveler struct{ p *Parameters }

func (l leveler) Level() slog.Level { return logLevels[l.p.logLevel.Get()] }

// LogFile is the file to log to; empty means standard error.
func (p *Parameters) LogFile() string { return p.logFile.Get() }
