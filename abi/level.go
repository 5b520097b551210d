package abi

// LogLevel is the level of a log line, the first parameter of the host's log function.
type LogLevel uint32

// Levels. The host takes a lower number for LogTrace and a higher one for LogError.
const (
	LogTrace LogLevel = 1
	LogDebug LogLevel = 2
	LogInfo  LogLevel = 3
	LogWarn  LogLevel = 4
	LogError LogLevel = 5
)
