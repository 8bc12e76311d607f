package kafkatest

import (
	"fmt"
	"path/filepath"
)

// brokerLogging returns the name and the text of the broker's logging
// configuration: log4j2 for Kafka 4, log4j 1 before.
func (l *layout) brokerLogging(b BrokerState) (name, text string) {
	if l.Mode == KRaft4 {
		return "log4j2.properties", fmt.Sprintf(log4j2Config, b.ServerLog, b.RequestLog)
	}
	return "log4j.properties", fmt.Sprintf(log4jConfig, b.ServerLog, b.RequestLog)
}

// brokerLoggingFlag returns the JVM flag that selects the file of
// brokerLogging.
func (l *layout) brokerLoggingFlag(b BrokerState) string {
	name, _ := l.brokerLogging(b)
	path := filepath.Join(b.Dir, name)
	if l.Mode == KRaft4 {
		return "-Dlog4j2.configurationFile=" + path
	}
	return "-Dlog4j.configuration=file:" + path
}

// In both forms the request log has its own rolling file and the level WARN,
// which prints nothing until it is raised through the Kafka API.
const log4jConfig = `log4j.rootLogger=INFO, server
log4j.appender.server=org.apache.log4j.RollingFileAppender
log4j.appender.server.File=%s
log4j.appender.server.MaxFileSize=64MB
log4j.appender.server.MaxBackupIndex=3
log4j.appender.server.layout=org.apache.log4j.PatternLayout
log4j.appender.server.layout.ConversionPattern=[%%d] %%p %%m (%%c)%%n
log4j.appender.request=org.apache.log4j.RollingFileAppender
log4j.appender.request.File=%s
log4j.appender.request.MaxFileSize=64MB
log4j.appender.request.MaxBackupIndex=3
log4j.appender.request.layout=org.apache.log4j.PatternLayout
log4j.appender.request.layout.ConversionPattern=[%%d] %%p %%m (%%c)%%n
log4j.logger.kafka.request.logger=WARN, request
log4j.additivity.kafka.request.logger=false
log4j.logger.org.apache.zookeeper=WARN
`

const log4j2Config = `status = warn
appender.server.type = RollingFile
appender.server.name = server
appender.server.fileName = %[1]s
appender.server.filePattern = %[1]s.%%i
appender.server.layout.type = PatternLayout
appender.server.layout.pattern = [%%d] %%p %%m (%%c)%%n
appender.server.policies.type = Policies
appender.server.policies.size.type = SizeBasedTriggeringPolicy
appender.server.policies.size.size = 64MB
appender.server.strategy.type = DefaultRolloverStrategy
appender.server.strategy.max = 3
appender.request.type = RollingFile
appender.request.name = request
appender.request.fileName = %[2]s
appender.request.filePattern = %[2]s.%%i
appender.request.layout.type = PatternLayout
appender.request.layout.pattern = [%%d] %%p %%m (%%c)%%n
appender.request.policies.type = Policies
appender.request.policies.size.type = SizeBasedTriggeringPolicy
appender.request.policies.size.size = 64MB
appender.request.strategy.type = DefaultRolloverStrategy
appender.request.strategy.max = 3
rootLogger.level = INFO
rootLogger.appenderRef.server.ref = server
logger.request.name = kafka.request.logger
logger.request.level = WARN
logger.request.additivity = false
logger.request.appenderRef.request.ref = request
`

// logbackConfig is for ZooKeeper.
const logbackConfig = `<configuration>
  <appender name="FILE" class="ch.qos.logback.core.FileAppender">
    <file>%s</file>
    <encoder><pattern>[%%d] %%p %%m \(%%c\)%%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="FILE"/></root>
</configuration>
`
