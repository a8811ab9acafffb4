output "topic_arn" {
  description = "ARN of the topic that gets the alarms. Other subscribers may be added to it."
  value       = aws_sns_topic.this.arn
}
